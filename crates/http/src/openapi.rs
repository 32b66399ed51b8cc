//! The OpenAPI description: completed with what the HTTP layer adds, and served with a page to read it by (I8).

use crate::{HttpState, MEDIA_TYPE, Problem, reason};
use axum::{
    Extension,
    body::Bytes,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};
use std::sync::{Arc, LazyLock, OnceLock};
use utoipa::{
    PartialSchema,
    openapi::{
        Content, Info, OpenApi, Ref, RefOr, Response,
        path::{Operation, PathItem},
        security::{
            ApiKey, ApiKeyValue, Flow, HttpAuthScheme, HttpBuilder, OAuth2, Password, Scopes,
            SecurityRequirement, SecurityScheme,
        },
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

/// Adds what every operation has in common, so that no dialect has to repeat it.
pub(crate) fn complete(openapi: &mut OpenApi) {
    openapi.info = Info::new("Muster", env!("CARGO_PKG_VERSION"));
    openapi.info.description = Some(DESCRIPTION.to_owned());
    let components = openapi.components.get_or_insert_default();
    components.schemas.insert("Problem".to_owned(), Problem::schema());
    for (name, description) in BEARERS {
        let scheme =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(*description)).build();
        components.add_security_scheme(*name, SecurityScheme::Http(scheme));
    }
    let password = Flow::Password(Password::new("/auth/login", Scopes::new()));
    let user = OAuth2::with_description([password], "A user's login, an API key, or the admin token");
    components.add_security_scheme("user", SecurityScheme::OAuth2(user));
    let apikey = ApiKeyValue::with_description(
        "apikey",
        "A node's secret or the admin token, as PostgREST's clients send it",
    );
    components.add_security_scheme("apikey", SecurityScheme::ApiKey(ApiKey::Header(apikey)));
    let token = ApiKeyValue::with_description("X-Worker-Token", "A simulation worker's token");
    components.add_security_scheme("worker_token", SecurityScheme::ApiKey(ApiKey::Header(token)));
    let signature =
        ApiKeyValue::with_description("signature", "Part of a signed address, which is proof enough (I7)");
    components.add_security_scheme("signature", SecurityScheme::ApiKey(ApiKey::Query(signature)));
    let paths = std::mem::take(&mut openapi.paths.paths);
    for (path, mut item) in paths {
        changing(&mut item).for_each(take_reason);
        operations(&mut item).for_each(complete_operation);
        // A variable that takes slashes is no other variable to OpenAPI.
        openapi.paths.paths.insert(path.replace("{*", "{"), item);
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().flatten()
}

fn changing(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { put, post, delete, patch, .. } = item;
    [put, post, delete, patch].into_iter().flatten()
}

/// Adds the reason parameter to operations whose caller is held accountable: an operator or a user (I7).
fn take_reason(operation: &mut Operation) {
    let accountable = ["operator", "user"].map(|name| SecurityRequirement::new(name, [""; 0]));
    let is_accountable = operation.security.iter().flatten().any(|needed| accountable.contains(needed));
    if is_accountable {
        operation.parameters.get_or_insert_default().push(RefOr::T(reason::parameter()));
        let response = || RefOr::T(Response::new(UNPROCESSABLE));
        operation.responses.responses.entry("422".to_owned()).or_insert_with(response);
    }
}

fn complete_operation(operation: &mut Operation) {
    let is_open = operation.security.as_ref().is_none_or(Vec::is_empty);
    let has_body = operation.request_body.is_some();
    let common = ANYWHERE
        .iter()
        .chain(SECURED.iter().filter(|_| !is_open))
        .chain(WITH_BODY.iter().filter(|_| has_body));
    for (status, description) in common {
        let response = || RefOr::T(Response::new(*description));
        operation.responses.responses.entry((*status).to_owned()).or_insert_with(response);
    }
    for (status, response) in &mut operation.responses.responses {
        match response {
            RefOr::T(response) if status.starts_with(['4', '5']) && response.content.is_empty() => {
                response.content.insert(MEDIA_TYPE.to_owned(), problem_content());
            }
            _ => {}
        }
    }
}

fn problem_content() -> RefOr<Content> {
    RefOr::T(Content::new(Some(Ref::from_schema_name("Problem"))))
}

/// The routes `/openapi.json` and `/docs`.
pub(crate) fn docs_routes(description: &Description) -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(openapi_json))
        .routes(routes!(docs))
        .route("/docs/start.js", get(|| async { script(Bytes::from_static(START_JS)) }))
        .route("/docs/scalar.js", get(|| async { script(SCALAR_JS.clone()) }))
        .layer(Extension(description.clone()))
}

/// The description as it is served; complete only once all routers are known.
#[derive(Clone, Default)]
pub(crate) struct Description(Arc<OnceLock<Bytes>>);

impl Description {
    /// Takes the complete description.
    pub(crate) fn set(&self, openapi: &OpenApi) {
        self.0.get_or_init(|| Bytes::from(openapi.to_json().expect("the description is plain data")));
    }
}

/// This description.
#[utoipa::path(get, path = "/openapi.json", tag = "server", responses(
    (status = 200, description = "An OpenAPI 3.1 document", content_type = "application/json", body = Object),
))]
async fn openapi_json(Extension(Description(text)): Extension<Description>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], text.get().cloned().unwrap_or_default())
}

/// A page to read this description by.
#[utoipa::path(get, path = "/docs", tag = "server", responses(
    (status = 200, description = "The page", content_type = "text/html", body = String),
))]
async fn docs() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE))
}

fn script(text: Bytes) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/javascript; charset=utf-8"), (header::CACHE_CONTROL, "max-age=3600")],
        text,
    )
}

const DESCRIPTION: &str = "One control plane for fleets of workers that come and go.\n\n\
    Several servers may share a store: any of them takes any request, and the one that leads answers it. Every answer tells \
    the number of the leader's term in the header `Muster-Epoch`. Where nobody leads, the answer is 503 with `Retry-After` and the \
    type `urn:muster:problem:not-leading`: nothing was done. `urn:muster:problem:broke-off` says that the leader went away and \
    nobody knows whether the request took effect.";

const BEARERS: &[(&str, &str)] = &[
    ("node", "The shared node secret, or a node's own: opens pull, callback and the RPCs"),
    (
        "operator",
        "The admin token, or the login or API key of a user who is VIEWER (to read), OPERATOR or ADMIN",
    ),
    ("enrolment", "The enrolment secret: opens the registration of simulation workers"),
    ("worker", "A simulation worker's token, as its registration answered it: opens its own routes"),
];

const ANYWHERE: &[(&str, &str)] = &[
    ("400", "The request cannot be understood"),
    ("403", "Not allowed: a foreign Host or Origin, or a token of another kind"),
    ("500", "Something broke inside the server"),
    ("503", "Not possible at the moment; Retry-After says when to come again"),
];

const SECURED: &[(&str, &str)] = &[("401", "The token is missing or wrong")];

const WITH_BODY: &[(&str, &str)] =
    &[("413", "The body is too long"), ("415", "The body is not application/json"), ("422", UNPROCESSABLE)];

const UNPROCESSABLE: &str = "A field is missing or has a value it cannot have; `field` names it";

static SCALAR_JS: LazyLock<Bytes> =
    LazyLock::new(|| Bytes::from(scalar_api_reference::get_asset("scalar.js").unwrap_or_default()));

const PAGE: &str = include_str!("docs.html");
const START_JS: &[u8] = include_bytes!("docs.js");

/// Nothing is loaded from, and nothing is sent, elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn described() -> Value {
        let (_, mut openapi) = crate::assemble::own_routes(&Description::default()).split_for_parts();
        complete(&mut openapi);
        serde_json::to_value(&openapi).unwrap()
    }

    /// I8: every operation lists the HTTP layer's answers, each with words and the problem's shape.
    #[test]
    fn every_operation_is_described_completely() {
        let document = described();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.contains_key("503"), "{path}");
                for (status, response) in responses {
                    assert!(!response["description"].as_str().unwrap().is_empty(), "{path} {status}");
                    let is_problem = response["content"]["application/problem+json"].is_object();
                    assert_eq!(is_problem, status.starts_with(['4', '5']), "{path} {status}");
                }
            }
        }
    }

    /// I7, I8: whoever changes something may say why, and whoever reads need not.
    #[test]
    fn a_reason_is_described() {
        let operation = |scheme: &str| {
            let mut operation = Operation::new();
            operation.security = Some(vec![SecurityRequirement::new(scheme, [""; 0])]);
            operation
        };
        let mut item = PathItem::default();
        (item.post, item.get, item.patch) =
            (Some(operation("operator")), Some(operation("operator")), Some(operation("node")));
        changing(&mut item).for_each(take_reason);
        let told = serde_json::to_value(&item).unwrap();
        assert_eq!(told["post"]["parameters"][0]["name"], "Muster-Reason");
        assert!(told["post"]["responses"]["422"].is_object());
        assert_eq!([told["get"].get("parameters"), told["patch"].get("parameters")], [None, None]);
    }

    /// I7, I8: the routes say which token opens them.
    #[test]
    fn tokens_are_described() {
        let document = described();
        assert_eq!(document["components"]["securitySchemes"]["node"]["scheme"], "bearer");
        assert_eq!(document["components"]["securitySchemes"]["apikey"]["in"], "header");
        assert!(document["paths"]["/api/events"]["get"]["responses"]["401"].is_object());
        assert!(document["components"]["schemas"]["Problem"]["properties"]["type"].is_object());
    }
}
