//! Serves the dashboard's files to anybody (I7).
//!
//! They are the same for everybody and hold nothing of what the server knows: whoever opens the page is asked for a token there,
//! and everything the page shows is fetched with that token.

use crate::assets::{self, Asset};
use axum::{
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use muster_http::Problem;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The routes `/` and `/ui/…`, for every server: also for one that follows another, or that still waits for its store.
pub fn pages<S: Clone + Send + Sync + 'static>() -> OpenApiRouter<S> {
    OpenApiRouter::new().routes(routes!(index)).route("/ui/{*path}", get(file))
}

/// The dashboard's page.
#[utoipa::path(get, path = "/", tag = "server", responses(
    (status = 200, description = "The page", content_type = "text/html", body = String),
    (status = 304, description = "The page is still the one that `If-None-Match` names"),
))]
async fn index(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

/// The files that the page loads: modules, styles and texts.
async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    answer(&path, &headers)
}

/// The file, or that the caller has it, or that there is none; whatever it is, a browser is told how little it may do.
fn answer(path: &str, headers: &HeaderMap) -> Response {
    let answer = match assets::find(path) {
        Some(asset) => fresh(asset, headers),
        None => Problem::not_found("the dashboard has no such file").into_response(),
    };
    (RESTRAINTS.map(|(name, value)| (name, HeaderValue::from_static(value))), answer).into_response()
}

fn fresh(asset: Asset, headers: &HeaderMap) -> Response {
    let Asset { content, kind, etag } = asset;
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|tags| names(tags, &etag));
    let stamps = [(header::ETAG, etag), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    if is_known {
        return (StatusCode::NOT_MODIFIED, stamps).into_response();
    }
    (stamps, [(header::CONTENT_TYPE, kind)], content).into_response()
}

/// True if a list of tags has this one in it, or a star; proxies may have weakened it.
fn names(tags: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(tags), Ok(etag)) = (tags.to_str(), etag.to_str()) else {
        return false;
    };
    let mut tags = tags.split(',').map(str::trim);
    tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

/// Nothing is loaded from or sent elsewhere, nothing written into a page runs, and no other page holds this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const RESTRAINTS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, body::Body, extract::Request};
    use tower::ServiceExt;

    async fn ask(method: &str, path: &str, tag: Option<&HeaderValue>) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let (router, _) = pages::<()>().split_for_parts();
        Router::new().merge(router).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    /// I7: anybody gets the page, and every answer tells a browser to load, run and show nothing else.
    #[tokio::test]
    async fn every_answer_restrains_the_browser() {
        for (path, status) in [("/", 200), ("/ui/index.html", 200), ("/ui/nothing.js", 404)] {
            let answer = ask("GET", path, None).await;
            assert_eq!(answer.status(), status, "{path}");
            for (name, value) in RESTRAINTS {
                assert_eq!(answer.headers()[&name], value, "{path} {name}");
            }
        }
        let page = ask("GET", "/", None).await;
        assert_eq!(page.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(page.headers()[header::CACHE_CONTROL], "no-cache");
    }

    /// I7: the page can be read and nothing else.
    #[tokio::test]
    async fn pages_are_only_read() {
        let head = ask("HEAD", "/", None).await;
        assert_eq!(head.status(), 200);
        assert!(axum::body::to_bytes(head.into_body(), 10).await.unwrap().is_empty());
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            assert_eq!(ask(method, "/", None).await.status(), 405);
            assert_eq!(ask(method, "/ui/index.html", None).await.status(), 405);
        }
    }

    #[tokio::test]
    async fn what_the_browser_has_is_not_sent_again() {
        let etag = ask("GET", "/", None).await.headers()[header::ETAG].clone();
        let text = etag.to_str().unwrap();
        for known in [text.to_owned(), format!("W/{text}"), format!("\"x\", {text}"), "*".to_owned()] {
            let answer = ask("GET", "/", Some(&known.parse().unwrap())).await;
            assert_eq!(answer.status(), 304, "{known}");
            assert_eq!(answer.headers()[header::ETAG], etag);
            assert!(answer.headers().contains_key(header::CONTENT_SECURITY_POLICY));
            assert!(axum::body::to_bytes(answer.into_body(), 10).await.unwrap().is_empty());
        }
        assert_eq!(ask("GET", "/", Some(&"\"x\"".parse().unwrap())).await.status(), 200);
    }
}
