//! The merge of a directory: `session.json` and the fragments in, `manifest.json` and `manifest_merge.log` out.

use crate::{
    folder::Folder,
    merge::{FileRefusal, MergeError, MergeOptions, MergeReport, Merged, Refused, merge},
    session::Session,
};
use std::path::Path;

/// Merges all fragments of a directory into its `manifest.json`.
///
/// Nothing is deleted, no link is followed, and a manifest that was there is replaced in one step.
///
/// # Errors
/// When the directory cannot be read or written, or holds nothing to merge. Bad fragments are no error: the report
/// names them.
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

/// Reads what the master left; none where it left nothing.
pub(crate) fn read_session(folder: &Folder) -> Result<Option<Session>, FileRefusal> {
    let mut bytes = Vec::new();
    match folder.read(SESSION, &mut bytes)? {
        Some(()) => Session::parse(&bytes).map(Some).map_err(|error| FileRefusal::Session(error.to_string())),
        None => Ok(None),
    }
}

/// The merged manifest.
pub const MANIFEST: &str = "manifest.json";
/// What the merge found.
pub const LOG: &str = "manifest_merge.log";
/// What the master knows.
pub const SESSION: &str = "session.json";
