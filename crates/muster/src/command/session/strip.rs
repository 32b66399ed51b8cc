//! The frames of a session that is under way, as a strip of characters.

use serde_json::Value;

/// Draws a session's coverage in so many cells: `█` done, `▓` at a worker, `▒` waiting for another worker, `·` not
/// given out, `×` failed. Of a cell's frames the least advanced one decides, so that a gap never hides; a failed frame
/// comes before all others.
pub(in crate::command) fn strip(session: &Value, cells: usize) -> String {
    stages(session, cells).into_iter().map(Stage::mark).collect()
}

/// As [`strip`], with failed cells in red where colours are used.
pub(super) fn coloured(session: &Value, cells: usize, is_colourful: bool) -> String {
    let plain = strip(session, cells);
    if is_colourful { plain.replace(FAILED, &format!("\u{1b}[31m{FAILED}\u{1b}[0m")) } else { plain }
}

fn stages(session: &Value, cells: usize) -> Vec<Stage> {
    let total = session.get("totalFrames").and_then(Value::as_u64).unwrap_or(0);
    let Some(width) = std::num::NonZeroU64::new(total.min(cells as u64)) else {
        return Vec::new();
    };
    let mut drawn = vec![Stage::Done; usize::try_from(width.get()).unwrap_or(0)];
    let coverage = session.get("coverage").and_then(Value::as_array);
    for (range, stage) in coverage.into_iter().flatten().filter_map(piece) {
        for (cell, worst) in (0u64..).zip(&mut drawn) {
            let from = u128::from(cell) * u128::from(total) / u128::from(width.get());
            let to = u128::from(cell + 1) * u128::from(total) / u128::from(width.get());
            if u128::from(range.0) < to && u128::from(range.1) > from {
                *worst = (*worst).min(stage);
            }
        }
    }
    drawn
}

/// How far a frame is, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Failed,
    Waiting,
    Returned,
    AtWorker,
    Done,
}

impl Stage {
    const fn mark(self) -> char {
        match self {
            Self::Failed => FAILED,
            Self::Waiting => '·',
            Self::Returned => '▒',
            Self::AtWorker => '▓',
            Self::Done => '█',
        }
    }
}

fn piece(entry: &Value) -> Option<((u64, u64), Stage)> {
    let range = entry.get("frameRange")?.as_array()?;
    let stage = match entry.get("status")?.as_str()? {
        "completed" => Stage::Done,
        "assigned" | "running" => Stage::AtWorker,
        "lost" => Stage::Returned,
        "failed" => Stage::Failed,
        _ => Stage::Waiting,
    };
    Some(((range.first()?.as_u64()?, range.get(1)?.as_u64()?), stage))
}

const FAILED: char = '×';

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// S26: the strip shows every frame that is not done.
    #[test]
    fn the_least_advanced_frame_decides() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = json!({"totalFrames": 100, "coverage": [
            entry(0, 35, "completed"), entry(35, 50, "running"), entry(50, 51, "lost"), entry(51, 60, "completed"),
            entry(60, 100, "pending"),
        ]});
        assert_eq!(strip(&session, 10), "███▓▓▒····");
        assert_eq!(strip(&json!({"totalFrames": 0}), 10), "");
        assert_eq!(strip(&json!({}), 10), "");
    }

    /// S26b: one failed frame among many shows, by its mark alone, and in red where colours are used.
    #[test]
    fn a_failed_frame_shows() {
        let entry =
            |start: u64, end: u64, status: &str| json!({"frameRange": [start, end], "status": status});
        let session = json!({"totalFrames": 100, "coverage": [
            entry(0, 34, "completed"), entry(34, 35, "failed"), entry(35, 90, "completed"), entry(90, 100, "pending"),
        ]});
        assert_eq!(strip(&session, 10), "███×█████·");
        assert_eq!(coloured(&session, 10, false), "███×█████·");
        assert_eq!(coloured(&session, 10, true), "███\u{1b}[31m×\u{1b}[0m█████·");
    }
}
