//! One live line on a terminal.

use std::{io::Write, time::Duration};
use tokio::sync::watch;

/// Draws the line whenever something changes, and again now and then: a log line may have wiped it.
pub(super) async fn show<R>(mut report: watch::Receiver<R>, line: fn(&R) -> String) {
    loop {
        let text = line(&report.borrow_and_update());
        draw(&text);
        tokio::time::sleep(REDRAW).await;
        if let Ok(Err(_)) = tokio::time::timeout(REDRAW_ANYWAY, report.changed()).await {
            eprintln!();
            return;
        }
    }
}

/// Whoever reads no terminal any more misses nothing.
fn draw(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "\r\x1b[2K{text}");
    let _ = stderr.flush();
}

/// People read no faster.
const REDRAW: Duration = Duration::from_millis(200);
const REDRAW_ANYWAY: Duration = Duration::from_secs(1);
