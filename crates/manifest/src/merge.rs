//! The merge of fragments into a manifest, without a disk (S22–S25).

mod document;
mod intake;

pub use intake::{FileRefusal, Refused, Unreadable};

use crate::{
    cameras::cameras,
    completions::{COMPLETIONS, Completions},
    range::FrameRange,
    recall::Recalled,
    session::{Replay, Session, is_total},
    sweep::{Coverage, OVERLAP_CHUNKS_MAX, Overlap, skip_given_up, sweep},
    table::Table,
    time_order::{ReorderedRange, Skipped, TimeSpans},
    totals::{Tally, Validation, surviving_frames, tally},
};
use intake::Intake;
use muster_artifacts::ContentHash;
use serde::Serialize;
use std::{collections::HashMap, io, path::PathBuf};

/// Receives a file: its name, and its bytes or the reason why they cannot be read.
pub type Take<'a> = dyn FnMut(&str, Result<&[u8], Unreadable>) + 'a;

/// Receives a line without its line break, or the reason why no further line can be read.
pub type TakeLine<'a> = dyn FnMut(Result<&[u8], Unreadable>) + 'a;

/// A place that has fragments.
pub trait Source {
    /// Returns the approximate number of files that [`Source::each`] will show.
    ///
    /// # Errors
    /// If the files cannot be listed.
    fn count(&mut self) -> io::Result<usize>;

    /// Shows every file that is named like a fragment, in any order.
    ///
    /// # Errors
    /// If the files cannot be listed.
    fn each(&mut self, take: &mut Take<'_>) -> io::Result<()>;

    /// Reads one of these files a second time.
    ///
    /// # Errors
    /// If it can no longer be read.
    fn again(&mut self, file: &str) -> io::Result<Vec<u8>>;

    /// Shows the lines of [`COMPLETIONS`](crate::COMPLETIONS) in their order; by default there are none.
    fn completions(&mut self, _take: &mut TakeLine<'_>) {}
}

/// Receives the number of fragments read so far and the number of all fragments.
pub type Progress<'a> = dyn Fn(u64, u64) + 'a;

/// Options of a merge.
#[derive(Clone, Copy, Default)]
pub struct MergeOptions<'a> {
    /// The number of frames; overrides `session.json`.
    pub total_frames: Option<u64>,
    /// Receives the progress.
    pub progress: Option<&'a Progress<'a>>,
}

/// The reason why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The directory cannot be opened.
    #[error("cannot open the directory {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// There is nothing to merge.
    #[error("no manifest_fragment_<workerId>_<chunkId>.json and no session.json in {}", .0.display())]
    Nothing(PathBuf),
    /// The number of frames is impossible.
    #[error("{0} frames: a session has from 1 to 2^53 - 1")]
    TotalFrames(u64),
    /// A file changed during the merge.
    #[error("{0} changed while it was merged; merge again")]
    Changed(String),
    /// The system reports an error.
    #[error("cannot {doing}: {error}")]
    Io {
        /// The failed operation.
        doing: String,
        /// The cause.
        error: io::Error,
    },
}

/// A finding that does not stop the merge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Warning {
    /// The file it is about, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The finding.
    pub warning: String,
}

/// The result of a merge.
#[derive(Debug)]
pub struct Merged {
    session: Session,
    total_frames: Option<u64>,
    table: Table,
    coverage: Coverage,
    skipped: Vec<Skipped>,
    reordered: Vec<ReorderedRange>,
    replays: Vec<Replay>,
    tally: Tally,
    cameras: Vec<Box<str>>,
    validation: Validation,
    completions: Completions,
    refusals: Vec<Refused>,
    warnings: Vec<Warning>,
}

/// A summary of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MergeReport {
    /// True if every frame has exactly one fragment and none was left out.
    pub complete: bool,
    /// The number of merged fragments.
    pub fragments: u64,
    /// The number of frames in `ranges[]`.
    pub covered_frames: u64,
    /// The number of frames of the session; if it is unknown, up to the last frame of any fragment.
    pub total_frames: u64,
    /// The frames without a fragment.
    pub gaps: Vec<FrameRange>,
    /// The frames that were left out, and why.
    pub skipped: Vec<Skipped>,
    /// The ranges that were moved into the order of time, in the order of `ranges[]`. They are not missing.
    pub reordered: Vec<ReorderedRange>,
    /// The frames with several fragments.
    pub overlaps: Vec<Overlap>,
    /// The superseded parts of fragments.
    pub replay_drops: Vec<Replay>,
    /// The files and lines that were not merged, and why.
    pub refusals: Vec<Refused>,
    /// Other findings.
    pub warnings: Vec<Warning>,
}

impl MergeReport {
    /// Returns true if nothing is missing, left out or refused.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.complete && self.refusals.is_empty()
    }
}

/// Merges all fragments of a source. The result does not depend on their order.
///
/// # Errors
/// If the source fails, or a fragment changes between two readings.
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
    let (completions, bad_lines) = Completions::read(source);
    let spans = TimeSpans { table: &table, recalled: &recalled };
    let backwards = spans.backwards(&coverage.pieces);
    let mut skipped = skip_given_up(&mut coverage.gaps, &session.given_up);
    if backwards.is_some() {
        skipped.extend(spans.skip_interleaved(&mut coverage.pieces));
        skipped.sort_unstable_by_key(|skipped| skipped.frame_range);
    }
    let frames = surviving_frames(&table, &coverage.pieces);
    let tally = tally(&table, &recalled, &coverage.pieces, &frames);
    let (cameras, validation) = (cameras(&table, &frames), Validation::of(&table, &frames));
    let reordered = if backwards.is_some() { spans.reorder(&mut coverage.pieces) } else { Vec::new() };
    let replays = all_replays(&session.replays, &coverage.drops);
    let other_warnings = other_warnings(&session, options, &coverage).into_iter().chain(backwards);
    let left_out = tally.totals.warnings("statistics").chain(validation.totals.warnings("validationSummary"));
    warnings.extend(other_warnings.chain(left_out).map(|warning| Warning { file: None, warning }));
    let mut merged = Merged {
        session,
        total_frames,
        table,
        coverage,
        skipped,
        reordered,
        replays,
        tally,
        cameras,
        validation,
        completions,
        refusals,
        warnings,
    };
    merged.refuse(bad_lines);
    Ok(merged)
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
    /// Returns true if every frame has exactly one fragment and none was left out.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.coverage.gaps.is_empty() && self.skipped.is_empty() && !self.coverage.pieces.is_empty()
    }

    /// Returns true if there was nothing to merge and nothing to refuse.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.entries().is_empty() && self.refusals.is_empty() && self.session == Session::default()
    }

    /// Returns the file name and the hash of every merged fragment.
    pub(crate) fn fragment_hashes(&self) -> impl Iterator<Item = (String, ContentHash)> {
        self.table.entries().iter().map(|entry| (self.table.file_name(entry).to_string(), entry.hash))
    }

    /// Returns true if a file was refused.
    pub(crate) fn is_refused(&self, file: &str) -> bool {
        self.refusals.binary_search_by(|refused| refused.file.as_str().cmp(file)).is_ok()
    }

    /// Adds refusals. Those of one file keep their order.
    pub(crate) fn refuse(&mut self, refused: impl IntoIterator<Item = Refused>) {
        self.refusals.extend(refused);
        self.refusals.sort_by(|one, other| one.file.cmp(&other.file));
    }

    /// Returns a summary.
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
            reordered: self.reordered,
            overlaps,
            replay_drops: drops,
            refusals: self.refusals,
            warnings: self.warnings,
        }
    }
}

/// Lists the replays of the server and the drops of the merge, sorted. A drop that a replay covers is not listed again.
fn all_replays(retired: &[Replay], drops: &[Replay]) -> Vec<Replay> {
    let mut sorted = retired.to_vec();
    sorted.sort_unstable();
    // Of each chunk, the starts of its retired ranges, and how far all ranges up to there reach.
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

fn other_warnings(session: &Session, options: &MergeOptions<'_>, coverage: &Coverage) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |warning: String| warnings.push(warning);
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
    warnings
}

/// Files in memory, in their order of insertion. One of them may be [`COMPLETIONS`].
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: Vec<(String, Vec<u8>)>,
    places: HashMap<String, usize>,
}

impl FromIterator<(String, Vec<u8>)> for Memory {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(files: T) -> Self {
        let files: Vec<_> = files.into_iter().collect();
        let places = files.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        Self { files, places }
    }
}

impl Source for Memory {
    fn count(&mut self) -> io::Result<usize> {
        Ok(self.files.len())
    }

    fn each(&mut self, take: &mut Take<'_>) -> io::Result<()> {
        self.files.iter().for_each(|(name, bytes)| take(name, Ok(bytes)));
        Ok(())
    }

    fn again(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let place = self.places.get(file).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.files[*place].1.clone())
    }

    fn completions(&mut self, take: &mut TakeLine<'_>) {
        let Some(place) = self.places.get(COMPLETIONS) else { return };
        let lines = self.files[*place].1.split_inclusive(|byte| *byte == b'\n');
        lines.for_each(|line| take(Ok(line.strip_suffix(b"\n").unwrap_or(line))));
    }
}
