//! The merge, without a disk: fragments in, a manifest out (S22–S25).

mod document;
mod intake;
mod log;

pub use intake::{FileRefusal, Refused, Unreadable};

use crate::{
    clock::{Skipped, skip_backwards},
    range::FrameRange,
    recall::Recalled,
    session::{Replay, Session, is_total},
    sweep::{Coverage, OVERLAP_CHUNKS_MAX, Overlap, sweep},
    table::Table,
    tally::{Tally, tally},
};
use intake::Intake;
use muster_artifacts::ContentHash;
use serde::Serialize;
use std::{collections::HashMap, io, path::PathBuf};

/// Takes a file by its name, with its bytes or why it has none.
pub type Take<'a> = dyn FnMut(&str, Result<&[u8], Unreadable>) + 'a;

/// Where fragments come from.
pub trait Source {
    /// How many files it will show, more or less.
    ///
    /// # Errors
    /// When the files cannot be listed.
    fn count(&mut self) -> io::Result<usize>;

    /// Shows every file whose name begins as a fragment's does, in any order.
    ///
    /// # Errors
    /// When the files cannot be listed.
    fn each(&mut self, take: &mut Take<'_>) -> io::Result<()>;

    /// Reads one of them a second time.
    ///
    /// # Errors
    /// When it cannot be read any more.
    fn again(&mut self, file: &str) -> io::Result<Vec<u8>>;
}

/// Hears of how many fragments how many were read.
pub type Progress<'a> = dyn Fn(u64, u64) + 'a;

/// What a merge is told beside the fragments.
#[derive(Clone, Copy, Default)]
pub struct MergeOptions<'a> {
    /// How many frames there must be; goes before what `session.json` says.
    pub total_frames: Option<u64>,
    /// Is told how many fragments were read so far, and of how many.
    pub progress: Option<&'a Progress<'a>>,
}

/// Why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The directory cannot be opened.
    #[error("cannot open the directory {}: {error}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is nothing to merge.
    #[error("no manifest_fragment_<workerId>_<chunkId>.json and no session.json in {}", .0.display())]
    Nothing(PathBuf),
    /// The number of frames cannot be.
    #[error("{0} frames: a session has from 1 to 2^53 - 1")]
    TotalFrames(u64),
    /// A file was replaced meanwhile.
    #[error("{0} changed while it was merged; merge again")]
    Changed(String),
    /// The disk refuses.
    #[error("cannot {doing}: {error}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why it failed.
        error: io::Error,
    },
}

/// Something that did not stop the merge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Warning {
    /// The file that it is about, if one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What was found.
    pub warning: String,
}

/// Everything that a merge decided.
#[derive(Debug)]
pub struct Merged {
    session: Session,
    total_frames: Option<u64>,
    table: Table,
    coverage: Coverage,
    skipped: Vec<Skipped>,
    replays: Vec<Replay>,
    tally: Tally,
    refusals: Vec<Refused>,
    warnings: Vec<Warning>,
}

/// What a merge came to, for whoever asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReport {
    /// Whether every frame has exactly one fragment and none was left out.
    pub complete: bool,
    /// Fragments that were merged.
    pub fragments: u64,
    /// Frames that have one.
    pub covered_frames: u64,
    /// Frames that there must be; without a known number, up to the last that anybody has.
    pub total_frames: u64,
    /// Which have none.
    pub gaps: Vec<FrameRange>,
    /// Which were left out, and why.
    pub skipped: Vec<Skipped>,
    /// Which had several fragments.
    pub overlaps: Vec<Overlap>,
    /// Which fragments lost them.
    pub replay_drops: Vec<Replay>,
    /// Files that were not merged, and why.
    pub refusals: Vec<Refused>,
    /// What else was noticed.
    pub warnings: Vec<Warning>,
}

impl MergeReport {
    /// Whether nothing is missing, left out or refused.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.complete && self.refusals.is_empty()
    }
}

/// Merges all fragments of a source. The result does not depend on their order.
///
/// # Errors
/// When the source fails, or a fragment changes between two readings.
pub fn merge(
    source: &mut dyn Source,
    session: Session,
    options: &MergeOptions<'_>,
) -> Result<Merged, MergeError> {
    if let Some(frames) = options.total_frames.filter(|frames| !is_total(*frames)) {
        return Err(MergeError::TotalFrames(frames));
    }
    let total_frames = options.total_frames.or(session.total_frames);
    let (table, refusals, mut warnings) = take_in(source, total_frames, options)
        .map_err(|error| MergeError::Io { doing: "list the fragments".to_owned(), error })?
        .settle();
    let retired = session.replays.iter().map(|replay| replay.retired_chunk_id).collect();
    let mut coverage = sweep(table.entries(), &retired, total_frames);
    let recalled = Recalled::read(&table, &coverage.pieces, source)?;
    let skipped = skip_backwards(&table, &recalled, &mut coverage.pieces);
    let tally = tally(&table, &recalled, &coverage.pieces);
    let replays = all_replays(&session.replays, &coverage.drops);
    warnings.extend(other_warnings(&session, options, &coverage, &tally));
    Ok(Merged { session, total_frames, table, coverage, skipped, replays, tally, refusals, warnings })
}

fn take_in<'a>(
    source: &mut dyn Source,
    total_frames: Option<u64>,
    options: &MergeOptions<'a>,
) -> io::Result<Intake<'a>> {
    let mut intake = Intake::new(source.count()?, total_frames, options.progress);
    source.each(&mut |file, bytes| intake.take(file, bytes))?;
    Ok(intake)
}

impl Merged {
    /// Whether every frame has exactly one fragment and none was left out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.coverage.gaps.is_empty() && self.skipped.is_empty() && !self.coverage.pieces.is_empty()
    }

    /// Whether there was nothing to merge, not even something bad.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.entries().is_empty() && self.refusals.is_empty() && self.session == Session::default()
    }

    /// The file and the hash of every fragment that was merged.
    pub(crate) fn fragment_hashes(&self) -> impl Iterator<Item = (String, ContentHash)> {
        self.table.entries().iter().map(|entry| (self.table.file_name(entry).to_string(), entry.hash))
    }

    /// Whether a file is among the refused.
    pub(crate) fn is_refused(&self, file: &str) -> bool {
        self.refusals.binary_search_by(|refused| refused.file.as_str().cmp(file)).is_ok()
    }

    /// Adds a file that was refused before the merge began.
    pub(crate) fn refuse(&mut self, refused: Option<Refused>) {
        self.refusals.extend(refused);
        self.refusals.sort_unstable_by(|one, other| one.file.cmp(&other.file));
    }

    /// What it came to.
    #[must_use]
    pub fn into_report(self) -> MergeReport {
        let complete = self.is_complete();
        let ends = self.table.entries().iter().map(|entry| entry.range.end);
        let Coverage { pieces, drops, overlaps, gaps } = self.coverage;
        MergeReport {
            complete,
            fragments: self.table.entries().len() as u64,
            covered_frames: pieces.iter().map(|piece| piece.range.frames()).sum(),
            total_frames: self.total_frames.or(ends.max()).unwrap_or(0),
            gaps,
            skipped: self.skipped,
            overlaps,
            replay_drops: drops,
            refusals: self.refusals,
            warnings: self.warnings,
        }
    }
}

/// What the master retired and what the merge dropped, sorted. A drop within what the master retired is not told twice.
fn all_replays(retired: &[Replay], drops: &[Replay]) -> Vec<Replay> {
    let mut sorted = retired.to_vec();
    sorted.sort_unstable();
    // Of each chunk, where what was retired begins and how far it goes, counted from all that began before.
    let mut reach: HashMap<u64, Vec<(u64, u64)>> = HashMap::new();
    for Replay { frame_range, retired_chunk_id, .. } in &sorted {
        let ends = reach.entry(*retired_chunk_id).or_default();
        let farthest = ends.last().map_or(0, |(_, end)| *end).max(frame_range.end);
        ends.push((frame_range.start, farthest));
    }
    let is_new = |drop: &&Replay| {
        let ends = reach.get(&drop.retired_chunk_id).map_or(&[][..], Vec::as_slice);
        let before = ends.partition_point(|(start, _)| *start <= drop.frame_range.start);
        before.checked_sub(1).is_none_or(|place| ends[place].1 < drop.frame_range.end)
    };
    sorted.extend(drops.iter().filter(is_new).copied());
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

fn other_warnings(
    session: &Session,
    options: &MergeOptions<'_>,
    coverage: &Coverage,
    tally: &Tally,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |warning: String| warnings.push(Warning { file: None, warning });
    if let (Some(told), Some(known)) = (options.total_frames, session.total_frames)
        && told != known
    {
        warn(format!("session.json says {known} frames; {told} were asked for and are taken"));
    }
    if coverage.overlaps.iter().any(|overlap| overlap.chunk_ids.len() >= OVERLAP_CHUNKS_MAX) {
        warn(format!(
            "some frames have {OVERLAP_CHUNKS_MAX} fragments or more; overlaps name no more of them"
        ));
    }
    for name in &tally.unsayable {
        warn(format!("the sum of the statistic {name:?} is beyond what a number can say and was left out"));
    }
    warnings
}
