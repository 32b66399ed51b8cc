//! Tests of the client: exit codes, logins, lists, servers and reasons.

use super::*;
use axum::{
    Json, Router,
    extract::Query,
    http::HeaderMap,
    response::IntoResponse,
    routing::{get, post},
};
use muster_http::Problem;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Starts a server and returns its address.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn at(url: &str) -> Servers {
    Servers::parse([url]).unwrap()
}

async fn client(router: Router) -> Client {
    Client::new(at(&serve(router).await), Some("t".to_owned()))
}

async fn exit_after(problem: Problem) -> Exit {
    let router = Router::new().fallback(move || async move { problem.into_response() });
    client(router).await.get::<Value>(&["x"], &[]).await.unwrap_err().exit()
}

/// I4: each kind of refusal has its exit code.
#[tokio::test]
async fn a_refusal_becomes_an_exit_code() {
    assert_eq!(exit_after(Problem::unauthorized()).await, Exit::Refused);
    assert_eq!(exit_after(Problem::forbidden("x")).await, Exit::Refused);
    assert_eq!(exit_after(Problem::conflict("x")).await, Exit::Refused);
    assert_eq!(exit_after(Problem::not_found("x")).await, Exit::NotFound);
    assert_eq!(exit_after(Problem::unprocessable("x", "y")).await, Exit::Usage);
    assert_eq!(exit_after(Problem::busy("x")).await, Exit::Unreachable);
}

/// I4: a server that is not there is 3.
#[tokio::test]
async fn no_server_is_unreachable() {
    let error = Client::new(at("http://127.0.0.1:1"), None).get::<Value>(&[], &[]).await.unwrap_err();
    assert_eq!(error.exit(), Exit::Unreachable);
    assert!(error.to_string().contains("muster serve"));
}

/// A server that takes the token `new` everywhere and gives it for `old`, once.
fn refreshing() -> Router {
    let shown = |headers: &HeaderMap| headers["authorization"].to_str().unwrap().to_owned();
    let refreshed = AtomicBool::new(false);
    let answer = json!({"access_token": "new", "token_type": "bearer", "expires_in": 900});
    let refresh = move |headers: HeaderMap| {
        let is_first = shown(&headers) == "Bearer old" && !refreshed.swap(true, Ordering::Relaxed);
        let answer = if is_first { Ok(Json(answer.clone())) } else { Err(Problem::invalid_token()) };
        async move { answer }
    };
    let whose = move |headers: HeaderMap| async move { Json(json!(shown(&headers))) };
    let refresh = Arc::new(refresh);
    let refresh = move |headers: HeaderMap| refresh(headers);
    Router::new().route("/auth/refresh", post(refresh)).fallback(whose)
}

/// I5, P1: a login that ends soon is refreshed once, the file is rewritten, and what another command refreshed is
/// taken over; one that is over says what to do.
#[tokio::test]
async fn a_login_is_refreshed_before_it_ends() {
    let home = tempfile::tempdir().unwrap();
    let home_text = home.path().to_str().unwrap().to_owned();
    let file = LoginFile::find(&move |name: &str| (name == "HOME").then(|| home_text.clone())).unwrap();
    let url = serve(refreshing()).await;
    let server = at(&url);
    let answered = json!({"access_token": "old", "token_type": "bearer", "expires_in": 900});
    let fresh = Login::begun("ann", serde_json::from_value(answered).unwrap());
    let ageing = Login { expires_at: fresh.expires_at - 800, ..fresh.clone() };
    file.keep(&server, &ageing, &file.lock().unwrap()).unwrap();
    let logged_in = |login: Login| Client::showing(at(&url), Access::Login(login, file.clone()));
    assert_eq!(
        logged_in(fresh.clone()).get::<String>(&["x"], &[]).await.unwrap(),
        "Bearer old",
        "long enough"
    );
    let (one, two) = (logged_in(ageing.clone()), logged_in(ageing));
    for client in [&one, &one, &two] {
        assert_eq!(client.get::<String>(&["x"], &[]).await.unwrap(), "Bearer new");
    }
    assert!(
        matches!(file.read(&server), Ok(StoredLogin::Login(kept)) if kept.token == "new" && !kept.is_ageing())
    );
    let over = Login { expires_at: fresh.expires_at - 900, ..fresh };
    file.keep(&server, &over, &file.lock().unwrap()).unwrap();
    let error = logged_in(over).get::<Value>(&["x"], &[]).await.unwrap_err();
    assert_eq!((error.exit(), error.to_string().contains("muster login")), (Exit::Refused, true));
}

/// Q15: a list is read to its end, page by page; names in a path lead nowhere else.
#[tokio::test]
async fn lists_are_read_to_their_end() {
    let page = |Query(query): Query<HashMap<String, String>>| async move {
        match query.get("after").map(String::as_str) {
            None => Json(json!({"runs": [1, 2], "next": "b"})),
            Some("b") => Json(json!({"runs": [3]})),
            Some(_) => Json(json!({})),
        }
    };
    let client = client(Router::new().route("/api/runs", get(page))).await;
    let listing = Listing { path: &["api", "runs"], name: "runs", query: Vec::new(), limit: 100 };
    assert_eq!(client.list::<u64>(listing).await.unwrap(), [1, 2, 3]);
    let asked =
        ClientRequest::new(Method::GET, &["api", "a/../b"]).request(&client.http, client.servers.first());
    assert_eq!(asked.build().unwrap().url().path(), "/api/a%2F..%2Fb");
}

/// I5, S19: whatever is asked goes to the next server where nobody is at the first, or another leads; what may have
/// arrived is sent again only if it is recognised.
#[tokio::test]
async fn the_next_server_is_asked() {
    let leader = || Router::new().fallback(|| async { Json(json!("done")) });
    let not_leading =
        || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-leading", "Another server leads", "not here");
    let follower = Router::new().fallback(move || async move { not_leading() });
    for first in ["http://127.0.0.1:1".to_owned(), serve(follower).await] {
        let servers = format!("{first},{}", serve(leader()).await);
        assert_eq!(
            Client::new(at(&servers), None).post::<String>(&["x"], &json!({})).await.unwrap(),
            "done",
            "{first}"
        );
        assert_eq!(
            Client::new(at(&servers), None).delete(&["x"], &Reason::default()).await.unwrap(),
            "done",
            "{first}"
        );
    }
    let cut = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let servers = format!("http://{},{}", cut.local_addr().unwrap(), serve(leader()).await);
    let cutting = tokio::spawn(async move {
        loop {
            let (mut stream, _) = cut.accept().await.unwrap();
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4096]).await;
        }
    });
    let client = || Client::new(at(&servers), None);
    assert_eq!(client().get::<String>(&["x"], &[]).await.unwrap(), "done");
    assert_eq!(client().order::<String>(&["x"], &json!({}), Order::with(Some("key"))).await.unwrap(), "done");
    let alone = client();
    assert_eq!(alone.post::<String>(&["x"], &json!({})).await.unwrap_err().exit(), Exit::Unreachable);
    assert_eq!(
        alone.post::<String>(&["x"], &json!({})).await.unwrap(),
        "done",
        "the next one goes elsewhere"
    );
    cutting.abort();
}

/// I7: a reason of any letters reaches the server in a header; without one there is no such header.
#[tokio::test]
async fn a_reason_goes_along() {
    let told = |headers: HeaderMap| async move {
        let reason = headers.get("muster-reason").map(|reason| reason.to_str().unwrap().to_owned());
        Json(json!({"reason": reason, "type": headers.get("content-type").map(|_| "json")}))
    };
    let client = client(Router::new().route("/x", post(told).delete(told))).await;
    let reason = Reason::because("기기 100%");
    let encoded = json!("%EA%B8%B0%EA%B8%B0%20100%25");
    assert_eq!(
        client.order::<Value>(&["x"], &json!({}), Order::because(&reason)).await.unwrap(),
        json!({"reason": encoded, "type": "json"})
    );
    assert_eq!(client.delete(&["x"], &reason).await.unwrap(), json!({"reason": encoded, "type": null}));
    assert_eq!(client.delete(&["x"], &Reason::default()).await.unwrap()["reason"], json!(null));
}
