//! Frames that the server gave up (S26b): they are skipped with the server's reason and are no gap.

use crate::{range::FrameRange, session::GivenUpRange, time_order::Skipped};

/// Moves the given-up parts of the gaps to the skipped frames. Where entries overlap, the first in frame order counts.
pub(crate) fn skip_given_up(gaps: &mut Vec<FrameRange>, given_up: &[GivenUpRange]) -> Vec<Skipped> {
    let given_up = disjoint(given_up);
    let mut given_up = given_up.iter().peekable();
    let (mut skipped, mut remaining) = (Vec::new(), Vec::new());
    for gap in gaps.iter() {
        let mut at = gap.start;
        while let Some((range, reason)) = given_up.peek() {
            if range.start >= gap.end {
                break;
            }
            if let Some(part) = FrameRange::new(range.start.max(at), range.end.min(gap.end)) {
                remaining.extend(FrameRange::new(at, part.start));
                skipped.push(Skipped { frame_range: part, reason: (*reason).to_owned(), chunk_id: None });
                at = part.end;
            }
            if range.end > gap.end {
                break;
            }
            given_up.next();
        }
        remaining.extend(FrameRange::new(at, gap.end));
    }
    *gaps = remaining;
    skipped
}

/// Sorts the entries and cuts off what an earlier entry already has.
fn disjoint(given_up: &[GivenUpRange]) -> Vec<(FrameRange, &str)> {
    let mut sorted: Vec<&GivenUpRange> = given_up.iter().collect();
    sorted.sort_unstable();
    let mut at = 0;
    let mut cut = |entry: &GivenUpRange| {
        let range = FrameRange::new(entry.frame_range.start.max(at), entry.frame_range.end)?;
        at = range.end;
        Some(range)
    };
    sorted.into_iter().filter_map(|entry| Some((cut(entry)?, entry.reason.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> FrameRange {
        FrameRange { start, end }
    }

    fn given_up(parts: &[(u64, u64, &str)]) -> Vec<GivenUpRange> {
        let part = |(start, end, reason): &(u64, u64, &str)| GivenUpRange {
            frame_range: range(*start, *end),
            reason: (*reason).to_owned(),
        };
        parts.iter().map(part).collect()
    }

    /// S26b, S24: each frame without a fragment is in a gap or was given up, never both.
    #[test]
    fn a_given_up_frame_is_no_gap() {
        let mut gaps = vec![range(0, 10), range(20, 30), range(40, 50)];
        let parts = given_up(&[(45, 60, "d"), (2, 4, "a"), (3, 5, "b"), (8, 25, "c"), (30, 40, "covered")]);
        let skipped = skip_given_up(&mut gaps, &parts);
        let shown: Vec<_> = skipped.iter().map(|part| (part.frame_range, part.reason.as_str())).collect();
        assert_eq!(
            shown,
            [
                (range(2, 4), "a"),
                (range(4, 5), "b"),
                (range(8, 10), "c"),
                (range(20, 25), "c"),
                (range(45, 50), "d")
            ]
        );
        assert_eq!(gaps, [range(0, 2), range(5, 8), range(25, 30), range(40, 45)]);
        assert!(skip_given_up(&mut gaps, &[]).is_empty());
        assert_eq!(gaps.len(), 4);
    }
}
