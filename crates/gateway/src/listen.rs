//! Takes connections, judges the requests on them and serves these until told to stop.

use crate::{
    places::{Place, Places},
    scanner::HEAD_MAX,
    screen::{Screen, Verdicts},
};
use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use muster_http::{DRAIN_MAX, Peer};
use std::{net::IpAddr, time::Duration};
use tokio::net::{TcpListener, TcpStream};
use tower::util::MapRequest;

/// Serves until `stop` ends, then lets requests under way finish for a while.
///
/// As [`muster_http::listen`] does, and stricter: callers here are strangers. A connection that finds no place is closed
/// at once; it would cost memory before anything on it could be refused.
pub(crate) async fn listen(
    listener: TcpListener,
    places: Places,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, from)) => match places.take_for(from.ip()) {
                Ok(place) => serve(Arrival { stream, from: from.ip(), place }, &router, &graceful),
                Err(full) => tracing::debug!(from = %from.ip(), ?full, "a connection found no place"),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                // Mostly too many open files: trying again at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_MAX, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// A connection that was taken.
struct Arrival {
    stream: TcpStream,
    from: IpAddr,
    place: Place,
}

fn serve(arrival: Arrival, router: &Router, graceful: &GracefulShutdown) {
    let Arrival { stream, from, place } = arrival;
    // Waiting to fill a packet would only delay answers.
    let _ = stream.set_nodelay(true);
    let verdicts = Verdicts::default();
    let screen = Screen::new(stream, verdicts.clone());
    let tell = move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer::at(from));
        request.extensions_mut().insert(verdicts.next());
        request
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(
            TokioIo::new(screen),
            TowerToHyperService::new(MapRequest::new(router.clone(), tell)),
        );
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke off");
        }
        drop(place);
    });
}

/// For the head of the next request to arrive, idle time before it included.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);
