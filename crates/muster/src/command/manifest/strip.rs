//! A session's frames as a strip of characters.

use muster_manifest::FrameRange;

/// Draws so many frames in so many cells: full, in part, or empty where all of a cell's frames are missing.
pub(crate) fn strip(
    total_frames: u64,
    missing: impl IntoIterator<Item = FrameRange>,
    cells: usize,
) -> String {
    let Some(cells) = std::num::NonZeroU64::new(total_frames.min(cells as u64)) else { return String::new() };
    let bound = |cell: u64| scaled(cell, total_frames, cells.get());
    let mut missing_of: Vec<u64> = vec![0; usize::try_from(cells.get()).unwrap_or(0)];
    for FrameRange { start, end } in missing {
        let first = scaled(start, cells.get(), total_frames);
        for (cell, missing) in
            (first..).zip(missing_of.iter_mut().skip(usize::try_from(first).unwrap_or(usize::MAX)))
        {
            if bound(cell) >= end {
                break;
            }
            *missing += end.min(bound(cell + 1)).saturating_sub(start.max(bound(cell)));
        }
    }
    let cell = |(cell, missing): (u64, &u64)| match *missing {
        0 => '█',
        missing if missing < bound(cell + 1) - bound(cell) => '▒',
        _ => '·',
    };
    (0..).zip(&missing_of).map(cell).collect()
}

/// `number` of `from`, counted in units of which there are `to`.
fn scaled(number: u64, to: u64, from: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(to) / u128::from(from);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(total: u64, missing: &[(u64, u64)], cells: usize) -> String {
        strip(total, missing.iter().map(|(start, end)| FrameRange { start: *start, end: *end }), cells)
    }

    /// S24: every gap shows, however small; only what is wholly missing is empty.
    #[test]
    fn a_gap_shows_in_the_strip() {
        assert_eq!(drawn(100, &[], 10), "██████████");
        assert_eq!(drawn(100, &[(0, 100)], 10), "··········");
        assert_eq!(drawn(100, &[(10, 30), (99, 100)], 10), "█··██████▒");
        assert_eq!(drawn(100, &[(5, 15)], 10), "▒▒████████");
        assert_eq!(drawn(3, &[(1, 2)], 10), "█·█");
        assert_eq!(drawn(0, &[], 10), "");
        let all = (1 << 53) - 1;
        assert_eq!(drawn(all, &[(all - 1, all)], 4), "███▒");
    }

    /// S24: no missing frame is lost between two cells.
    #[test]
    fn every_missing_frame_shows() {
        for (total, frame) in (1..60).flat_map(|total| (0..total).map(move |frame| (total, frame))) {
            let drawn = drawn(total, &[(frame, frame + 1)], 7);
            assert_eq!(drawn.chars().filter(|cell| *cell != '█').count(), 1, "{frame} of {total}: {drawn}");
        }
    }
}
