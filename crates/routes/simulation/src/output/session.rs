//! The files about a session as a whole: `session.json` as it goes, `manifest.json` when it is done (S21).

use super::{
    OutputError, OutputRoot,
    directory::Directory,
    fragment::{META, as_fault, fragment_file},
    part::Part,
    quarantine::Entry,
};
use muster_contract_simulation::SubmittedResult;
use muster_manifest::{
    COMPLETIONS, CompletionLine, FragmentName, FrameRange, GivenUpRange, MergeError, MergeOptions,
    MergeReport, Replay, SESSION, Session, merge_directory,
};
use muster_model::{self as model, Name, ReplayRecord, SessionId};
use std::{collections::HashMap, ffi::OsStr, io::Read};

/// A session as its files tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFiles {
    /// Its id.
    pub session: SessionId,
    /// Its directory, relative to the output root.
    pub output: Box<str>,
    /// Its number of frames.
    pub total_frames: u64,
    /// The ranges that were given out anew.
    pub replays: Vec<ReplayRecord>,
    /// The frames that were given up (S26b).
    pub given_up: Vec<GivenUpRange>,
}

/// A completed range, whose fragment counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedRange {
    /// The worker that handed it in.
    pub worker: Name,
    /// Its frames.
    pub range: model::FrameRange,
}

/// `completions.jsonl` while it is written: what workers submitted beside their fragments (S21).
#[derive(Debug)]
pub struct CompletionsFile<'a>(Part<'a>);

impl CompletionsFile<'_> {
    /// Adds what was submitted with a range, as it is kept with its task.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn add(&mut self, chunk: u64, result: &str) -> Result<(), OutputError> {
        let submitted: SubmittedResult = serde_json::from_str(result).unwrap_or_default();
        let line = CompletionLine {
            global_id_chunk_id: chunk,
            pose_files: submitted.pose_files,
            metrics_snapshot: submitted.metrics_snapshot,
        };
        if line.pose_files.is_none() && line.metrics_snapshot.is_none() {
            return Ok(());
        }
        self.0.write(line.to_line().as_bytes())
    }
}

impl OutputRoot {
    /// Takes a directory for a session, unless it is another one's already (S26): two would mix their fragments.
    ///
    /// # Errors
    /// When it is another session's, or not allowed.
    pub fn claim_directory(&self, files: &SessionFiles) -> Result<(), OutputError> {
        self.check_directory(&files.output)?;
        let meta = self.make_session_directory(&files.output, META);
        let meta = meta.map_err(|error| as_fault(error, &files.output))?;
        if owner(&meta, files)? {
            return Ok(());
        }
        self.check_no_frames(&files.output)?;
        let mut part = self.parts().begin()?;
        part.write(&text_of(files))?;
        match part.show(&meta, SESSION) {
            // Another was faster: whoever it was has it.
            Err(OutputError::InTheWay { .. }) => owner(&meta, files).map(|_| ()),
            shown => shown,
        }
    }

    /// Writes `session.json` anew (S21).
    ///
    /// # Errors
    /// When the directory is another session's, or the disk refuses.
    pub fn write_session(&self, files: &SessionFiles) -> Result<(), OutputError> {
        let meta = self.make_session_directory(&files.output, META)?;
        owner(&meta, files)?;
        let mut part = self.parts().begin()?;
        part.write(&text_of(files))?;
        part.replace(&meta, SESSION)
    }

    /// Begins `completions.jsonl`.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn begin_completions(&self) -> Result<CompletionsFile<'_>, OutputError> {
        self.parts().begin().map(CompletionsFile)
    }

    /// Shows `completions.jsonl` of a session.
    ///
    /// # Errors
    /// If the directory is another session's, or the disk refuses.
    pub fn finish_completions(
        &self,
        files: &SessionFiles,
        completions: CompletionsFile<'_>,
    ) -> Result<(), OutputError> {
        let meta = self.make_session_directory(&files.output, META)?;
        owner(&meta, files)?;
        completions.0.replace(&meta, COMPLETIONS)
    }

    /// Writes `manifest.json` of a session whose frames are all done or given up (S21).
    ///
    /// `accepted` says whose fragment counts for each chunk. All other fragments are moved to quarantine first: they were
    /// never acknowledged, or their range was given up since.
    ///
    /// # Errors
    /// When a fragment is missing or the merge is not complete, which the error names; or the disk refuses.
    pub fn merge(
        &self,
        files: &SessionFiles,
        accepted: &HashMap<u64, AcceptedRange>,
    ) -> Result<MergeReport, OutputError> {
        self.write_session(files)?;
        let meta = self.make_session_directory(&files.output, META)?;
        self.clear_out(&meta, files, accepted)?;
        check_all_there(&meta, accepted)?;
        let options = MergeOptions { total_frames: Some(files.total_frames), progress: None };
        let report = merge_directory(meta.path(), &options).map_err(|error| as_output(error, &meta))?;
        match shortcomings(&report) {
            None => Ok(report),
            Some(reason) => Err(OutputError::Incomplete { path: meta.path().to_owned(), reason }),
        }
    }

    /// Moves every fragment that does not count to its chunk's entry in the quarantine.
    fn clear_out(
        &self,
        meta: &Directory,
        files: &SessionFiles,
        accepted: &HashMap<u64, AcceptedRange>,
    ) -> Result<(), OutputError> {
        for name in meta.names()? {
            if let Some(entry) = entry_of_stray(&name, files, accepted) {
                let _turn = self.turn(&entry);
                self.take_in(&entry, &name)?;
            }
        }
        Ok(())
    }
}

/// The entry for a file that the merge would take for a fragment and must not; none for all others.
fn entry_of_stray(
    name: &OsStr,
    files: &SessionFiles,
    accepted: &HashMap<u64, AcceptedRange>,
) -> Option<Entry> {
    let fragment = FragmentName::parse(&name.to_string_lossy())?;
    let Ok(fragment) = fragment else { return Some(Entry::nameless(&files.output)) };
    let Some(chunk) = fragment.chunk() else { return Some(Entry::nameless(&files.output)) };
    let counts = accepted.get(&chunk).is_some_and(|accepted| accepted.worker.as_str() == fragment.worker());
    (!counts).then(|| Entry::chunk(chunk, &files.output, fragment.worker()))
}

/// Returns true if the directory is this session's, false if it is nobody's yet.
fn owner(meta: &Directory, files: &SessionFiles) -> Result<bool, OutputError> {
    let Some(file) = meta.file(SESSION)? else { return Ok(false) };
    let failed = |error| OutputError::disk("read", meta.path_of(SESSION), error);
    let mut bytes = Vec::new();
    file.take(SESSION_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let owner = Session::parse(&bytes).ok().and_then(|session| session.session_id);
    match owner {
        Some(owner) if owner == files.session.as_str() => Ok(true),
        Some(session) => Err(OutputError::Taken { path: files.output.to_string(), session }),
        None => Err(OutputError::InTheWay {
            path: meta.path_of(SESSION),
            found: "a file that names no session",
            wanted: "the session's own",
        }),
    }
}

fn text_of(files: &SessionFiles) -> Vec<u8> {
    let replay = |record: &ReplayRecord| {
        Some(Replay {
            frame_range: FrameRange::new(record.range.start, record.range.end)?,
            retired_chunk_id: record.retired,
            new_chunk_id: Some(record.new),
        })
    };
    Session {
        session_id: Some(files.session.to_string()),
        total_frames: Some(files.total_frames),
        replays: files.replays.iter().filter_map(replay).collect(),
        given_up: files.given_up.clone(),
    }
    .to_json()
}

/// The merge would only see a gap; whoever must mend it wants the file's name.
fn check_all_there(meta: &Directory, accepted: &HashMap<u64, AcceptedRange>) -> Result<(), OutputError> {
    let mut missing = Vec::new();
    for (chunk, accepted) in accepted {
        let file = fragment_file(&accepted.worker, *chunk)?;
        if meta.look(&file)?.is_none() {
            missing.push(file);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    let reason = format!(
        "{} is missing; put it back, or retire its chunk to have its frames done anew",
        listed(&missing, String::clone)
    );
    Err(OutputError::Incomplete { path: meta.path().to_owned(), reason })
}

/// Describes the faults that keep a merge from being whole and can be mended.
fn shortcomings(report: &MergeReport) -> Option<String> {
    let mut reasons = Vec::new();
    if !report.refusals.is_empty() {
        let refusals = listed(&report.refusals, |refused| format!("{}: {}", refused.file, refused.reason));
        reasons.push(format!("refused {refusals}"));
    }
    if !report.gaps.is_empty() {
        reasons.push(format!("no fragment for frames {}", listed(&report.gaps, FrameRange::to_string)));
    }
    if reasons.is_empty() {
        return None;
    }
    let reasons = reasons.join("; ");
    Some(format!("{reasons}; mend the files, or retire their chunks to have the frames done anew"))
}

/// The first few of many.
fn listed<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let mut texts: Vec<String> = items.iter().take(NAMED_MAX).map(text).collect();
    if items.len() > NAMED_MAX {
        texts.push(format!("and {} more", items.len() - NAMED_MAX));
    }
    texts.join(", ")
}

fn as_output(error: MergeError, meta: &Directory) -> OutputError {
    match error {
        MergeError::Directory { path, error } => OutputError::disk("open", path, error),
        MergeError::Io { error, .. } => OutputError::disk("write the manifest in", meta.path(), error),
        other => OutputError::Incomplete { path: meta.path().to_owned(), reason: other.to_string() },
    }
}

const NAMED_MAX: usize = 8;
/// As large as ten million frames, each given out anew, would make it.
const SESSION_BYTES_MAX: u64 = 1 << 30;
