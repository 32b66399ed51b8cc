//! Takes connections and serves requests on them until told to stop.

use crate::{Peer, limit::RequestTimer};
use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use std::{net::IpAddr, time::Duration};
use tokio::net::{TcpListener, TcpStream};
use tower::util::MapRequest;

/// Serves until `stop` ends, then lets requests under way finish for at most [`DRAIN_MAX`].
///
/// Idle and slow connections are closed after a while, so that nobody can hold them all.
pub async fn listen(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, from)) => serve(stream, from.ip(), &router, &graceful),
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

fn serve(stream: TcpStream, from: IpAddr, router: &Router, graceful: &GracefulShutdown) {
    // Answers are small; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let (peer, timer) = (Peer::at(from), RequestTimer::default());
    let describe = move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(timer.clone());
        request
    };
    let service = TowerToHyperService::new(MapRequest::new(router.clone(), describe));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke off");
        }
    });
}

/// Leaves time for the last commit within the ten seconds a stop may take (I1).
pub const DRAIN_MAX: Duration = Duration::from_secs(5);

/// For the head of the next request to arrive.
const IDLE_MAX: Duration = Duration::from_secs(75);
