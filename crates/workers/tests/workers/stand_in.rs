//! A server that knows only what a test tells it, and hears everything that a worker says.

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
};

/// A call of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Method and path, such as `POST workers/W1/heartbeat`.
    pub(crate) what: String,
    /// The address of the server that was called.
    pub(crate) at: String,
    pub(crate) body: Bytes,
    /// The worker's token, or else the `authorization` header.
    pub(crate) credential: String,
}

impl Call {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The last piece of the path.
    pub(crate) fn end(&self) -> &str {
        self.what.rsplit(['/', ' ']).next().unwrap_or_default()
    }
}

/// The response to a call.
pub(crate) enum Answer {
    Now(Response),
    /// As soon as there is work.
    WithWork,
    /// The call is done, and its response breaks off: at once, or as soon as there is work.
    Lost {
        awaits_work: bool,
    },
    Never,
}

/// The contract of a server, and what it knows.
pub(crate) trait Desk: Send + 'static {
    /// The name of a call: its path without what all paths have in common.
    fn name(path: &str, body: &Value) -> String;
    /// The calls so far, the one that is being answered included.
    fn calls(&mut self) -> &mut Vec<Call>;
    fn answer(&mut self, call: &Call) -> Answer;
    /// The next piece of work, as a worker is given it.
    fn next_work(&mut self) -> Option<Value>;
    /// Adds headers that every response has.
    fn sign(&self, _at: &str, _response: &mut Response) {}
}

/// A server in a runtime of its own, so that its connections end with it.
pub(crate) struct StandIn<D: Desk> {
    pub(crate) url: String,
    counter: Counter<D>,
    life: Option<Runtime>,
}

struct Counter<D> {
    url: String,
    desk: Arc<Mutex<D>>,
    changed: watch::Sender<()>,
}

impl<D> Clone for Counter<D> {
    fn clone(&self) -> Self {
        Self { url: self.url.clone(), desk: Arc::clone(&self.desk), changed: self.changed.clone() }
    }
}

impl<D: Desk> StandIn<D> {
    pub(crate) fn with(desk: D) -> Self {
        Self::serve(Arc::new(Mutex::new(desk)), watch::Sender::new(()))
    }

    /// Another server that knows the same.
    pub(crate) fn beside(&self) -> Self {
        Self::serve(Arc::clone(&self.counter.desk), self.counter.changed.clone())
    }

    fn serve(desk: Arc<Mutex<D>>, changed: watch::Sender<()>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let counter = Counter { url: url.clone(), desk, changed };
        let routes = Router::new().fallback(answer::<D>).with_state(counter.clone());
        let life = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        life.spawn(async move { axum::serve(TcpListener::from_std(listener).unwrap(), routes).await });
        Self { url, counter, life: Some(life) }
    }

    /// Kills the server: whatever was connected with it is cut off.
    pub(crate) fn die(&mut self) {
        if let Some(life) = self.life.take() {
            life.shutdown_background();
        }
    }

    /// State of the server, with the calls that it got.
    pub(crate) fn desk(&self) -> MutexGuard<'_, D> {
        self.counter.desk.lock().unwrap()
    }

    /// Changes what the server knows; calls that wait for work look again.
    pub(crate) fn change(&self, change: impl FnOnce(&mut D)) {
        change(&mut self.desk());
        self.counter.changed.send_replace(());
    }

    /// The nth call of a kind, once it came.
    pub(crate) async fn nth(&self, what: &str, n: usize) -> Call {
        self.until_called(|calls| calls.iter().filter(|call| call.what == what).nth(n).cloned()).await
    }

    /// The first call of a kind at this very server, once it came.
    pub(crate) async fn first(&self, what: &str) -> Call {
        let is_it = |call: &&Call| call.what == what && call.at == self.url;
        self.until_called(|calls| calls.iter().find(is_it).cloned()).await
    }

    /// Number of calls of a kind.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.desk().calls().iter().filter(|call| call.what == what).count()
    }

    async fn until_called(&self, found: impl Fn(&[Call]) -> Option<Call>) -> Call {
        self.until_desk(|desk| found(desk.calls())).await
    }

    /// Waits until something can be said of what the server knows.
    pub(crate) async fn until<T>(&self, found: impl Fn(&D) -> Option<T>) -> T {
        self.until_desk(|desk| found(desk)).await
    }

    async fn until_desk<T>(&self, found: impl Fn(&mut D) -> Option<T>) -> T {
        let mut changed = self.counter.changed.subscribe();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = found(&mut self.desk()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(Duration::from_secs(60), waiting).await {
            Ok(found) => found,
            Err(_) => {
                let heard = |call: &Call| format!("{} {}", call.at, call.what);
                let heard: Vec<String> = self.desk().calls().iter().map(heard).collect();
                panic!("it never happened; heard: {heard:?}");
            }
        }
    }
}

impl<D: Desk> Drop for StandIn<D> {
    fn drop(&mut self) {
        self.die();
    }
}

async fn answer<D: Desk>(State(counter): State<Counter<D>>, request: Request) -> Response {
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let credential = request.headers().get("x-worker-token").or(request.headers().get("authorization"));
    let credential = credential.map_or("", |value| value.to_str().unwrap()).to_owned();
    let body = axum::body::to_bytes(request.into_body(), 10 << 20).await.unwrap();
    let json = serde_json::from_slice(&body).unwrap_or_default();
    let what = format!("{method} {}", D::name(&path, &json));
    let call = Call { what, at: counter.url.clone(), body, credential };
    let answer = {
        let mut desk = counter.desk.lock().unwrap();
        desk.calls().push(call.clone());
        desk.answer(&call)
    };
    counter.changed.send_replace(());
    let mut response = match answer {
        Answer::Now(response) => response,
        Answer::WithWork => Json(work(&counter).await).into_response(),
        Answer::Lost { awaits_work } => {
            if awaits_work {
                work(&counter).await;
            }
            torn()
        }
        Answer::Never => std::future::pending().await,
    };
    counter.desk.lock().unwrap().sign(&counter.url, &mut response);
    response
}

/// Waits until there is work.
async fn work<D: Desk>(counter: &Counter<D>) -> Value {
    let mut changed = counter.changed.subscribe();
    loop {
        changed.borrow_and_update();
        let work = counter.desk.lock().unwrap().next_work();
        if let Some(work) = work {
            return work;
        }
        changed.changed().await.unwrap();
    }
}

/// A response that breaks off.
pub(crate) fn torn() -> Response {
    let stream = futures_util::stream::iter([Ok("{"), Err(std::io::Error::other("the network is gone"))]);
    Body::from_stream(stream).into_response()
}
