//! The merge of a directory: reads `session.json`, `completions.jsonl` and the fragments, writes `manifest.json` and
//! `manifest_merge.log`.

use crate::{
    folder::Folder,
    merge::{FileRefusal, MergeError, MergeOptions, MergeReport, Merged, Refused, merge},
    session::Session,
};
use std::path::Path;

/// Merges all fragments of a directory into its `manifest.json`.
///
/// Deletes nothing, follows no link, and replaces an existing manifest in one step.
///
/// # Errors
/// If the directory cannot be read or written, or has nothing to merge. Bad fragments are no error: the report names
/// them.
pub fn merge_directory(directory: &Path, options: &MergeOptions<'_>) -> Result<MergeReport, MergeError> {
    let mut folder = Folder::open(directory)?;
    let merged = merge_folder(&mut folder, options)?;
    if merged.is_empty() {
        return Err(MergeError::Nothing(folder.path));
    }
    folder.replace(MANIFEST, |out| merged.write_manifest(out))?;
    folder.replace(LOG, |out| merged.write_log(out))?;
    Ok(merged.into_report())
}

/// Merges and writes nothing.
pub(crate) fn merge_folder(folder: &mut Folder, options: &MergeOptions<'_>) -> Result<Merged, MergeError> {
    let (session, refused) = match read_session(folder) {
        Ok(session) => (session.unwrap_or_default(), None),
        Err(reason) => (Session::default(), Some(Refused { file: SESSION.to_owned(), reason })),
    };
    let mut merged = merge(folder, session, options)?;
    merged.refuse(refused);
    Ok(merged)
}

/// Reads `session.json`; none if there is no such file.
pub(crate) fn read_session(folder: &Folder) -> Result<Option<Session>, FileRefusal> {
    let mut bytes = Vec::new();
    match folder.read(SESSION, &mut bytes)? {
        Some(()) => Session::parse(&bytes).map(Some).map_err(|error| FileRefusal::Session(error.to_string())),
        None => Ok(None),
    }
}

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// The name of the log of a merge.
pub const LOG: &str = "manifest_merge.log";
/// The name of the file of the session.
pub const SESSION: &str = "session.json";
