//! `muster manifest merge` and `muster manifest verify` (S21–S25).

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use muster_manifest::{
    FrameRange, MergeOptions, MergeReport, Refused, ReorderedRange, Skipped, VerifyReport, merge_directory,
    verify_directory,
};
use serde::Serialize;
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

#[derive(Debug, Args)]
pub(crate) struct Manifest {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Merge all fragments of a directory into its manifest.json
    Merge {
        #[command(flatten)]
        place: MetaDirectory,
        /// Number of frames of the session [default: totalFrames of session.json, else the end of the last fragment]
        #[arg(long, value_name = "N")]
        total_frames: Option<u64>,
    },
    /// Hash every fragment again and check that merging them gives manifest.json
    Verify {
        #[command(flatten)]
        place: MetaDirectory,
    },
}

#[derive(Debug, Args)]
struct MetaDirectory {
    /// Directory of the fragments, such as output/session_1/meta
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Manifest {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let bar = progress();
        let progress = |read: u64, count: u64| {
            bar.set_length(count);
            bar.set_position(read);
        };
        match self.action {
            Action::Merge { place, total_frames } => {
                let options = MergeOptions { total_frames, progress: Some(&progress) };
                let report = merge_directory(&place.directory, &options);
                bar.finish_and_clear();
                Ok(tell_merge(&report?, &place))
            }
            Action::Verify { place } => {
                let report = verify_directory(&place.directory, Some(&progress));
                bar.finish_and_clear();
                Ok(tell_verification(&report?, &place))
            }
        }
    }
}

fn tell_merge(report: &MergeReport, place: &MetaDirectory) -> Exit {
    refusals(&report.refusals);
    for warning in &report.warnings {
        eprintln!("warning: {}{}", about(warning.file.as_deref()), warning.warning);
    }
    if place.json {
        document(report);
    } else {
        holes(&report.gaps, &report.skipped);
        print_first(&moves(&report.reordered));
        show_coverage(report);
        eprintln!("{}", summary(report));
    }
    exit(report.is_fine())
}

fn tell_verification(report: &VerifyReport, place: &MetaDirectory) -> Exit {
    refusals(&report.refusals);
    if place.json {
        document(report);
    } else {
        let differences: Vec<String> =
            report.differences.iter().map(|found| format!("differs: {found}")).collect();
        print_first(&differences);
        holes(&report.gaps, &report.skipped);
        let outcome = if report.is_fine() { "verified" } else { "failed" };
        eprintln!("{outcome}: {} fragments hashed and merged again", report.fragments);
    }
    exit(report.is_fine())
}

/// The outcome of a merge in one line.
fn summary(report: &MergeReport) -> String {
    let MergeReport { complete, fragments, covered_frames, total_frames, skipped, reordered, .. } = report;
    let outcome = if *complete { "complete" } else { "incomplete" };
    let skipped_frames: u64 = skipped.iter().map(|skipped| skipped.frame_range.frames()).sum();
    let mut text =
        format!("{outcome}: {covered_frames} of {total_frames} frames, {fragments} fragments merged");
    if skipped_frames > 0 {
        text += &format!(", {skipped_frames} frames skipped");
    }
    if !reordered.is_empty() {
        text += &format!(", {} ranges reordered by time", reordered.len());
    }
    text
}

fn moves(reordered: &[ReorderedRange]) -> Vec<String> {
    reordered.iter().map(|range| format!("reordered: frames {range}")).collect()
}

/// Draws the frames as a strip, on a terminal only.
fn show_coverage(report: &MergeReport) {
    if io::stderr().is_terminal() {
        let skipped = report.skipped.iter().map(|skipped| skipped.frame_range);
        let missing = report.gaps.iter().copied().chain(skipped);
        eprintln!("{}", strip(report.total_frames, missing, STRIP_CELLS));
    }
}

fn holes(gaps: &[FrameRange], skipped: &[Skipped]) {
    print_first(&gaps.iter().map(|gap| format!("missing: frames {gap}")).collect::<Vec<_>>());
    print_first(&skipped.iter().map(|skipped| format!("skipped: frames {skipped}")).collect::<Vec<_>>());
}

/// Prints the first lines of many. The manifest and its log have them all.
fn print_first(lines: &[String]) {
    lines.iter().take(LINES_MAX).for_each(|line| eprintln!("{line}"));
    if lines.len() > LINES_MAX {
        eprintln!("… and {} more", lines.len() - LINES_MAX);
    }
}

/// Prints all refusals, for people and for scripts.
fn refusals(refusals: &[Refused]) {
    refusals
        .iter()
        .for_each(|refused| eprintln!("refused: {}{}", about(Some(&refused.file)), refused.reason));
}

fn about(file: Option<&str>) -> String {
    file.map(|file| format!("{file}: ")).unwrap_or_default()
}

fn document(report: &impl Serialize) {
    output::document(&serde_json::to_value(report).expect("a report has only text keys"));
}

const fn exit(is_fine: bool) -> Exit {
    if is_fine { Exit::Fine } else { Exit::Failed }
}

/// Creates a progress bar, which is visible on a terminal only.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} fragments read, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

const STRIP_CELLS: usize = 64;
const LINES_MAX: usize = 20;

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

    /// S23: the summary of a merge mentions skipped frames and reordered ranges, if there are any.
    #[test]
    fn a_summary_mentions_what_moved_and_what_is_skipped() {
        let range = FrameRange { start: 0, end: 10 };
        let mut report = MergeReport {
            complete: true,
            fragments: 3,
            covered_frames: 20,
            total_frames: 30,
            gaps: Vec::new(),
            skipped: Vec::new(),
            reordered: Vec::new(),
            overlaps: Vec::new(),
            replay_drops: Vec::new(),
            refusals: Vec::new(),
            warnings: Vec::new(),
        };
        assert_eq!(summary(&report), "complete: 20 of 30 frames, 3 fragments merged");
        report.reordered = [1, 2].map(|chunk_id| ReorderedRange { frame_range: range, chunk_id }).to_vec();
        report.skipped = vec![Skipped { frame_range: range, reason: "lost".to_owned(), chunk_id: None }];
        report.complete = false;
        assert_eq!(
            summary(&report),
            "incomplete: 20 of 30 frames, 3 fragments merged, 10 frames skipped, 2 ranges reordered by time"
        );
    }

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
