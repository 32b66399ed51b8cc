//! `GET /status` of an agent, for whoever watches over the PC.

use super::Report;
use crate::{command::serve, failure::Failure};
use axum::{Json, Router, http::StatusCode, routing::get};
use tokio::{sync::watch, task::JoinHandle};

/// Serves the agent's state on an address; says on standard output where, when port 0 took a free one.
pub(super) async fn serve(address: &str, report: watch::Receiver<Report>) -> Result<JoinHandle<()>, Failure> {
    let listener = serve::bind(address).await?;
    crate::output::line(&format!("status on http://{}/status", listener.local_addr()?));
    let health = report.clone();
    let routes = Router::new()
        .route("/status", get(async move || Json(report.borrow().clone())))
        .route("/healthz", get(async move || health_of(&health.borrow())));
    Ok(tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, routes).await {
            tracing::error!(%error, "the status page has ended");
        }
    }))
}

/// The process lives; what it cannot deliver it keeps, so being degraded is no reason to restart it.
fn health_of(report: &Report) -> (StatusCode, &'static str) {
    (StatusCode::OK, report.state)
}
