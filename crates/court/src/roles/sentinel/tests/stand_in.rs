//! A server at hand that answers as it is told, and keeps what it was asked.

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, Response, StatusCode},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use tokio::net::TcpListener;

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
}

pub(super) type Reply = Response<Body>;
type Answering = dyn Fn(&Asked) -> Reply + Send + Sync;

/// A server; it ends with the runtime of its test.
pub(super) struct StandIn {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl StandIn {
    pub(super) async fn new(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, answer): (Arc<Mutex<Vec<Asked>>>, Arc<Answering>) = (Arc::default(), Arc::new(answer));
        let kept = Arc::clone(&asked);
        let router = Router::new().fallback(move |request: Request| {
            let asked = Asked::of(&request);
            let reply = answer(&asked);
            kept.lock().unwrap().push(asked);
            async move { reply }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    /// What it was asked since the last time.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Asked {
    fn of(request: &Request) -> Self {
        let url = reqwest::Url::parse("http://here").unwrap().join(&request.uri().to_string()).unwrap();
        let query = url.query_pairs().into_owned().collect();
        Self { path: url.path().to_owned(), query, headers: request.headers().clone() }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
    let mut reply = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        reply = reply.header(*name, *value);
    }
    reply.body(body.into()).unwrap()
}
