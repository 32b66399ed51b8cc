//! What the live line says.

use super::Report;

/// How an agent is, in one line.
pub(super) fn of(report: &Report) -> String {
    let Report { node, state, devices, online, running, slots, queued, spooled, .. } = report;
    format!(
        "{node}  {state}  devices {online}/{devices}  running {running}/{slots}  queued {queued}  spool {spooled}"
    )
}

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
        assert_eq!(of(&report), expected);
    }
}
