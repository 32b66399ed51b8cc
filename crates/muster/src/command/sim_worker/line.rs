//! What the live line says.

use muster_workers::simulation::runtime::Report;

/// How a worker is, in one line.
pub(super) fn of(report: &Report) -> String {
    let Report { worker, state, epoch, held, slots, frames, pace_percent } = report;
    format!("{worker}  {state}  epoch {epoch}  tasks {held}/{slots}  frames {frames}  pace {pace_percent} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S27: state, term, tasks, frames and pace, in one line.
    #[test]
    fn the_line_says_how_the_worker_is() {
        let report = Report {
            worker: "W1".into(),
            state: "Healthy".into(),
            epoch: 3,
            held: 1,
            slots: 2,
            frames: 1234,
            pace_percent: 70,
        };
        assert_eq!(of(&report), "W1  Healthy  epoch 3  tasks 1/2  frames 1234  pace 70 %");
    }
}
