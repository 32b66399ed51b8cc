//! Compares a manifest with the fragments beside it (S24).

use crate::{
    folder::{Folder, MANIFEST, merge_folder, read_session},
    json::{self, DEPTH_MAX, Opaque},
    merge::{MergeError, MergeOptions, MergeReport, Merged, Progress, Refused},
    range::FrameRange,
    time_order::Skipped,
};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::HashMap,
    io::{self, Write},
    marker::PhantomData,
    path::Path,
};

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// True if every frame has exactly one fragment and none was left out.
    pub complete: bool,
    /// The number of fragments that were hashed again.
    pub fragments: u64,
    /// The differences between the manifest and the fragments.
    pub differences: Vec<Difference>,
    /// The frames without a fragment.
    pub gaps: Vec<FrameRange>,
    /// The frames that were left out.
    pub skipped: Vec<Skipped>,
    /// The files and lines that could not be merged.
    pub refusals: Vec<Refused>,
}

/// A difference between the manifest and the fragments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// The file is not a manifest.
    #[error("{MANIFEST} is not a manifest: {0}")]
    NotAManifest(String),
    /// A fragment is gone.
    #[error("{0} is named in the manifest and is not there")]
    Missing(String),
    /// A fragment has another content than the merged one.
    #[error("{0} is not what was merged: its SHA-256 differs")]
    Changed(String),
    /// A fragment was added later.
    #[error("{0} is there and was not merged")]
    Unmerged(String),
    /// Two ranges share frames.
    #[error("the ranges {0} and {1} share frames")]
    Ranges(FrameRange, FrameRange),
    /// The session has another length.
    #[error("the manifest counts {manifest} frames, session.json {session}")]
    TotalFrames {
        /// The number in the manifest.
        manifest: u64,
        /// The number in `session.json`.
        session: u64,
    },
    /// A merge would write other bytes.
    #[error(
        "{MANIFEST} is not what a merge gives now: they differ from byte {0} on; if an earlier version wrote it, \
         merge again"
    )]
    Bytes(u64),
}

impl VerifyReport {
    /// Returns true if the manifest is complete and a merge of its fragments gives the same bytes.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        self.complete && self.differences.is_empty() && self.refusals.is_empty()
    }

    fn not_a_manifest(problem: String) -> Self {
        Self {
            complete: false,
            fragments: 0,
            differences: vec![Difference::NotAManifest(problem)],
            gaps: Vec::new(),
            skipped: Vec::new(),
            refusals: Vec::new(),
        }
    }
}

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Hashes every fragment of a directory again, merges them in memory, and compares the result. Writes nothing.
///
/// # Errors
/// If the directory cannot be read. Faults of the manifest and of fragments are in the report.
pub fn verify_directory(
    directory: &Path,
    progress: Option<&Progress<'_>>,
) -> Result<VerifyReport, MergeError> {
    let mut folder = Folder::open(directory)?;
    let mut bytes = Vec::new();
    let recorded = match read_manifest(&folder, &mut bytes) {
        Ok(recorded) => recorded,
        Err(problem) => return Ok(VerifyReport::not_a_manifest(problem)),
    };
    let options = MergeOptions { total_frames: recorded.total_frames, progress };
    let merged = merge_folder(&mut folder, &options)?;
    let session = read_session(&folder).ok().flatten().and_then(|session| session.total_frames);
    let mut differences = recorded.differences(&merged, session);
    differences.extend(other_bytes(&merged, &bytes));
    let MergeReport { complete, fragments, gaps, skipped, refusals, .. } = merged.into_report();
    Ok(VerifyReport { complete, fragments, differences, gaps, skipped, refusals })
}

fn read_manifest(folder: &Folder, bytes: &mut Vec<u8>) -> Result<Recorded, String> {
    let found = folder.read(MANIFEST, bytes).map_err(|error| error.to_string())?;
    found.ok_or_else(|| "it is not there; `muster manifest merge` writes it".to_owned())?;
    json::read_nested(bytes, DEPTH_MAX + DEPTH_ADDED, PhantomData::<Opaque>)
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// The parts of a manifest that are checked one by one, so that a difference can be named. A comparison of all bytes
/// finds the others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    total_frames: Option<u64>,
    ranges: Vec<RecordedRange>,
    distributed: RecordedHashes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedRange {
    frame_range: FrameRange,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedHashes {
    fragment_hashes: Vec<RecordedHash>,
}

#[derive(Deserialize)]
struct RecordedHash {
    file: String,
    sha256: String,
}

impl Recorded {
    fn differences(self, merged: &Merged, session_frames: Option<u64>) -> Vec<Difference> {
        let mut differences = Vec::new();
        if let (Some(manifest), Some(session)) = (self.total_frames, session_frames)
            && manifest != session
        {
            differences.push(Difference::TotalFrames { manifest, session });
        }
        differences.extend(shared_frames(&self.ranges));
        differences.extend(self.distributed.differences(merged));
        differences
    }
}

/// Finds ranges that share frames. Their order does not matter here: they may be in the order of time (S23).
fn shared_frames(ranges: &[RecordedRange]) -> Vec<Difference> {
    let mut ranges: Vec<FrameRange> = ranges.iter().map(|range| range.frame_range).collect();
    ranges.sort_unstable();
    let pairs = ranges.array_windows().filter(|[one, next]| next.start < one.end);
    pairs.map(|[one, next]| Difference::Ranges(*one, *next)).collect()
}

impl RecordedHashes {
    fn differences(self, merged: &Merged) -> Vec<Difference> {
        let hashes = self.fragment_hashes.into_iter();
        let mut named: HashMap<String, String> = hashes.map(|hash| (hash.file, hash.sha256)).collect();
        let mut differences = Vec::new();
        for (file, hash) in merged.fragment_hashes() {
            match named.remove(&file) {
                Some(sha256) if sha256 == hash.to_string() => {}
                Some(_) => differences.push(Difference::Changed(file)),
                None => differences.push(Difference::Unmerged(file)),
            }
        }
        let mut gone: Vec<String> = named.into_keys().collect();
        gone.sort_unstable();
        differences.extend(gone.into_iter().map(|file| absent(file, merged)));
        differences
    }
}

/// Explains why a file of the manifest was not merged: its new content is refused, or it is gone.
fn absent(file: String, merged: &Merged) -> Difference {
    if merged.is_refused(&file) {
        Difference::Changed(file)
    } else {
        Difference::Missing(file.escape_debug().to_string())
    }
}

/// Finds the first byte that a merge would write differently.
fn other_bytes(merged: &Merged, found: &[u8]) -> Option<Difference> {
    let mut comparison = Comparison { found, at: 0, difference: None };
    merged.write_manifest(&mut comparison).expect("comparing does not fail");
    let Comparison { at, difference, .. } = comparison;
    let is_longer = found.len() > at;
    difference.or(is_longer.then_some(at)).map(|at| Difference::Bytes(at as u64))
}

/// Compares the written bytes with those of a file.
struct Comparison<'a> {
    found: &'a [u8],
    at: usize,
    difference: Option<usize>,
}

impl Write for Comparison<'_> {
    fn write(&mut self, expected: &[u8]) -> io::Result<usize> {
        let found = self.found.get(self.at..).unwrap_or_default();
        let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
        if same < expected.len() {
            self.difference.get_or_insert(self.at + same);
        }
        self.at += expected.len();
        Ok(expected.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A manifest has values of fragments inside lists and objects of its own.
const DEPTH_ADDED: u32 = 4;
