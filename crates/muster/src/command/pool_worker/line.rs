//! What the live line says.

use muster_workers::pool::{core::Counts, runtime::Report};

/// How a worker is, in one line.
pub(super) fn of(report: &Report) -> String {
    let Report { name, state, running, slots, spooled, counts } = report;
    let Counts { completed, failed, aside, .. } = counts;
    format!(
        "{name}  {state}  running {running}/{slots}  spool {spooled}  done {completed}  failed {failed}  aside {aside}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: state, slots, spool and what became of results, in one line.
    #[test]
    fn the_line_says_how_the_worker_is() {
        let counts = Counts { completed: 12, failed: 2, repeated: 1, aside: 3 };
        let report =
            Report { name: "worker-a".into(), state: "online", running: 1, slots: 4, spooled: 5, counts };
        assert_eq!(of(&report), "worker-a  online  running 1/4  spool 5  done 12  failed 2  aside 3");
    }
}
