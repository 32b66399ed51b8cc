//! One live line on a terminal.

use super::Report;
use std::{io::Write, time::Duration};
use tokio::sync::watch;

/// Draws the line whenever something changes, and again now and then: a log line may have wiped it.
pub(super) async fn show(mut report: watch::Receiver<Report>) {
    loop {
        draw(&line(&report.borrow_and_update()));
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

fn line(report: &Report) -> String {
    let Report { node, state, devices, online, running, slots, queued, spooled, .. } = report;
    format!(
        "{node}  {state}  devices {online}/{devices}  running {running}/{slots}  queued {queued}  spool {spooled}"
    )
}

/// People read no faster.
const REDRAW: Duration = Duration::from_millis(200);
const REDRAW_ANYWAY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// I11: devices, running, queued, spool depth and degraded, in one line.
    #[test]
    fn the_line_says_how_the_agent_is() {
        let report = Report {
            node: "PC-01".into(),
            state: "degraded",
            devices: 100,
            online: 98,
            running: 20,
            slots: 20,
            queued: 3,
            spooled: 412,
            reachable: false,
            degraded: true,
        };
        let expected = "PC-01  degraded  devices 98/100  running 20/20  queued 3  spool 412";
        assert_eq!(line(&report), expected);
    }
}
