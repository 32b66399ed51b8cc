//! SIGTERM and Ctrl-C, for programs that have something to end first.

use crate::failure::{Exit, Failure};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Does something when somebody asks to stop; whoever asks twice does not want to wait.
///
/// Only for programs for which any death is safe.
pub(super) fn on_request(first: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::spawn(async move {
        either(&mut interrupt, &mut terminate).await;
        first();
        either(&mut interrupt, &mut terminate).await;
        std::process::exit(Exit::Failed as i32);
    });
    Ok(())
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
