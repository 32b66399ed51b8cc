//! A bare HTTP server that takes the requests of `muster-bench callbacks`: it parses a callback into a typed struct, sends
//! the response of Muster and stores nothing.

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::{net::TcpListener, runtime::Builder};

/// Serves until the process is ended.
pub(crate) fn serve() {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(listen());
}

async fn listen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("listening on http://{}", listener.local_addr().expect("its address"));
    let jobs = Bytes::from(jobs());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket option");
        let jobs = jobs.clone();
        let service = service_fn(move |request| respond(request, jobs.clone()));
        // A client that goes away ends its connection.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn respond(request: Request<Incoming>, jobs: Bytes) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let (status, text) = match head.uri.path() {
        "/api/nodes/callback" if is_complete(&body) => (StatusCode::OK, Bytes::from_static(OK)),
        "/api/nodes/callback" => (StatusCode::UNPROCESSABLE_ENTITY, Bytes::new()),
        "/api/nodes/pull" => (StatusCode::OK, jobs),
        _ => (StatusCode::CREATED, Bytes::from_static(OK)),
    };
    let mut response = Response::new(Full::new(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(HeaderName::from_static("x-request-id"), REQUEST_ID);
    headers.insert(HeaderName::from_static("muster-epoch"), EPOCH);
    Ok(response)
}

/// A callback as nodes send it.
#[derive(Deserialize)]
struct Callback<'a> {
    event_id: &'a str,
    r#type: &'a str,
    #[serde(borrow)]
    payload: Payload<'a>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    node_id: &'a str,
    run_id: &'a str,
    task_id: &'a str,
    device_id: &'a str,
    timestamp: i64,
    attempt: u32,
    lease_token: &'a str,
    runtime_handle: Option<&'a str>,
    workflow_id: Option<&'a str>,
    step: Option<&'a str>,
    status: Option<&'a str>,
    timings: Option<Timings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timings {
    started_at: i64,
    ended_at: i64,
}

/// Reads every field, so that none is parsed in vain.
fn is_complete(body: &[u8]) -> bool {
    let Ok(Callback { event_id, r#type, payload }) = serde_json::from_slice(body) else { return false };
    let texts = [event_id, r#type, payload.node_id, payload.run_id, payload.task_id, payload.device_id];
    let optional = [payload.runtime_handle, payload.workflow_id, payload.step, payload.status];
    texts.iter().chain(optional.iter().flatten()).all(|text| !text.is_empty())
        && !payload.lease_token.is_empty()
        && payload.timestamp > 0
        && payload.attempt > 0
        && payload.timings.is_none_or(|timings| timings.started_at <= timings.ended_at)
}

/// The response to every pull: as many jobs as the load asks for.
fn jobs() -> String {
    let job = |n: usize| {
        let id = format!("0199a0e5-0000-7000-8000-{n:012}");
        format!(
            r#"{{"task_id":"{id}","run_id":"{id}","device_id":"PC-00-d{n:03}","runtime_handle":"PC-00-d{n:03}","workflow_id":"w","params":{{"KEY":"value"}},"attempt":1,"timeoutMs":180000,"lease":{{"token":"{id}","until":1794985200000}}}}"#
        )
    };
    format!(r#"{{"now":1794985100000,"jobs":[{}]}}"#, (0..20).map(job).collect::<Vec<_>>().join(","))
}

const OK: &[u8] = br#"{"ok":true}"#;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const REQUEST_ID: HeaderValue = HeaderValue::from_static("678913a3dcec7b77");
const EPOCH: HeaderValue = HeaderValue::from_static("1");
