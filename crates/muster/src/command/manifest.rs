//! `muster manifest merge` and `muster manifest verify` (S21–S25).

mod strip;

use crate::{
    failure::{Exit, Failure},
    output,
};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use muster_manifest::{
    FrameRange, MergeOptions, MergeReport, Refused, Skipped, VerifyReport, merge_directory, verify_directory,
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
        place: Place,
        /// How many frames there must be [default: as session.json says, else up to the last fragment]
        #[arg(long, value_name = "N")]
        total_frames: Option<u64>,
    },
    /// Hash every fragment again and see that manifest.json is what they give
    Verify {
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Debug, Args)]
struct Place {
    /// The directory of the fragments, such as output/session_1/meta
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

fn tell_merge(report: &MergeReport, place: &Place) -> Exit {
    refusals(&report.refusals);
    for warning in &report.warnings {
        eprintln!("warning: {}{}", about(warning.file.as_deref()), warning.warning);
    }
    if place.json {
        document(report);
    } else {
        holes(&report.gaps, &report.skipped);
        show_coverage(report);
        let MergeReport { fragments, covered_frames, total_frames, .. } = report;
        let outcome = if report.complete { "complete" } else { "incomplete" };
        eprintln!("{outcome}: {covered_frames} of {total_frames} frames, {fragments} fragments merged");
    }
    exit(report.is_fine())
}

fn tell_verification(report: &VerifyReport, place: &Place) -> Exit {
    refusals(&report.refusals);
    if place.json {
        document(report);
    } else {
        let differences: Vec<String> =
            report.differences.iter().map(|found| format!("differs: {found}")).collect();
        some(&differences);
        holes(&report.gaps, &report.skipped);
        let outcome = if report.is_fine() { "verified" } else { "not as it should be" };
        eprintln!("{outcome}: {} fragments hashed and merged again", report.fragments);
    }
    exit(report.is_fine())
}

/// A strip of the frames, for people who look on.
fn show_coverage(report: &MergeReport) {
    if io::stderr().is_terminal() {
        let skipped = report.skipped.iter().map(|skipped| skipped.frame_range);
        let missing = report.gaps.iter().copied().chain(skipped);
        eprintln!("{}", strip::strip(report.total_frames, missing, STRIP_CELLS));
    }
}

fn holes(gaps: &[FrameRange], skipped: &[Skipped]) {
    some(&gaps.iter().map(|gap| format!("missing: frames {gap}")).collect::<Vec<_>>());
    let skipped =
        skipped.iter().map(|skipped| format!("skipped: frames {}: {}", skipped.frame_range, skipped.reason));
    some(&skipped.collect::<Vec<_>>());
}

/// The first few lines of many; the manifest and its log have them all.
fn some(lines: &[String]) {
    lines.iter().take(LINES_MAX).for_each(|line| eprintln!("{line}"));
    if lines.len() > LINES_MAX {
        eprintln!("… and {} more like it", lines.len() - LINES_MAX);
    }
}

/// Refused files are named one and all, for people and for scripts.
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

/// A bar on a terminal, nothing elsewhere.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} fragments read, {eta} left");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

const STRIP_CELLS: usize = 64;
const LINES_MAX: usize = 20;
