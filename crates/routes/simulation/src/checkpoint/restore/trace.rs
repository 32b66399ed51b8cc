//! What was granted after a checkpoint was taken, as far as the disk tells.
//!
//! Each attempt has a directory that bears the number of its chunk. Where there are numbers that the checkpoint does not
//! know of, somebody may still use their ids, and they must not be granted again (S13).

use muster_contract_simulation::limit;
use muster_manifest::FragmentName;
use muster_model::FarmRecord;
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// Where to go on granting ids: where the checkpoint says, or beyond all numbers that left a trace.
///
/// # Errors
/// When the disk cannot be read, or no ids would be left.
pub(super) fn beyond_traces(farm: FarmRecord, chunk_size: u64, root: &Path) -> io::Result<FarmRecord> {
    let mut newest = None;
    for_each_number(root, &mut |number| {
        if number >= farm.next_chunk && number - farm.next_chunk <= LEAP_MAX {
            newest = newest.max(Some(number));
        }
    })?;
    let Some(newest) = newest else { return Ok(farm) };
    let skipped = newest - farm.next_chunk + 1 + SPARE;
    let next_id = leap(farm.next_id, chunk_size, skipped);
    let next_id = next_id.ok_or_else(|| io::Error::other("there are no ids left beyond those in use"))?;
    Ok(FarmRecord { next_chunk: farm.next_chunk + skipped, next_id, ..farm })
}

/// The first id beyond so many chunks, each as large as one can be; at a multiple of their common size (S12).
fn leap(from: u64, chunk_size: u64, chunks: u64) -> Option<u64> {
    let largest = chunk_size.checked_add(limit::REQUESTED_IDS.unsigned_abs())?;
    let beyond = from.checked_add(chunks.checked_mul(largest)?)?;
    beyond.checked_next_multiple_of(chunk_size).filter(|id| i64::try_from(*id).is_ok())
}

/// Calls with each number of a chunk below the output root. No link is followed: workers write there.
fn for_each_number(root: &Path, found: &mut dyn FnMut(u64)) -> io::Result<()> {
    for name in names(&root.join("quarantine/dropped_chunks"))? {
        name.to_str().and_then(|name| name.parse().ok()).into_iter().for_each(&mut *found);
    }
    let mut waiting: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for name in names(&directory)? {
            let path = directory.join(&name);
            match name.to_str() {
                Some("chunks") => numbers(&path, |name| name.parse().ok(), found)?,
                Some("meta") => numbers(&path, chunk_of_fragment, found)?,
                Some("workers" | "quarantine") => {}
                _ if name.as_encoded_bytes().starts_with(b".") => {}
                _ if path.symlink_metadata().is_ok_and(|data| data.is_dir()) => waiting.push(path),
                _ => {}
            }
        }
    }
    Ok(())
}

fn numbers(
    directory: &Path,
    number: impl Fn(&str) -> Option<u64>,
    found: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let names = names(directory)?;
    names.iter().filter_map(|name| name.to_str().and_then(&number)).for_each(found);
    Ok(())
}

fn chunk_of_fragment(name: &str) -> Option<u64> {
    FragmentName::parse(name)?.ok()?.chunk()
}

/// The names in a directory; none where it is none, or is not for us.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    if !directory.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// Grants that leave no trace: further ids of a task have no directory, and one may not be made yet.
const SPARE: u64 = 1000;

/// Nobody grants more between two checkpoints; a larger number was planted.
const LEAP_MAX: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(paths: &[&str]) -> FarmRecord {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        let farm = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        beyond_traces(farm, 1000, root.path()).unwrap()
    }

    /// S12, S20: where nothing was granted since, ids go on where they were.
    #[test]
    fn ids_go_on_where_they_were() {
        let same = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        assert_eq!(after(&[]), same);
        assert_eq!(after(&["s/chunks/1", "s/chunks/4", "quarantine/dropped_chunks/3"]), same);
        assert_eq!(after(&["s/chunks/9223372036854775807", "s/chunks/x", "s/workers/7", "7"]), same);
        assert_eq!(beyond_traces(same, 1000, Path::new("/nowhere")).unwrap(), same);
    }

    /// S13, S20: ids that were granted after the checkpoint are not granted again.
    #[test]
    fn ids_with_a_trace_are_left_out() {
        for path in [
            "s/chunks/6",
            "deep/er/s/chunks/6",
            "quarantine/dropped_chunks/6",
            "s/meta/manifest_fragment_W1_6.json",
        ] {
            let farm = after(&["s/chunks/4", path]);
            assert_eq!(farm.next_chunk, 1007, "{path}");
            // The ids of 1002 chunks, though each were as large as a worker may ask for.
            assert!(farm.next_id >= 5000 + 1002 * (1 << 32) && farm.next_id.is_multiple_of(1000), "{farm:?}");
        }
    }

    /// S13: there is an end to ids, also here.
    #[test]
    fn there_is_an_end_to_ids() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("s/chunks/6")).unwrap();
        let last = FarmRecord { paused: false, next_chunk: 5, next_id: i64::MAX.unsigned_abs() - 9 };
        assert!(beyond_traces(last, 1000, root.path()).is_err());
    }

    #[test]
    fn a_link_is_not_followed() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(other.path().join("chunks/6")).unwrap();
        std::os::unix::fs::symlink(other.path(), root.path().join("s")).unwrap();
        let farm = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        assert_eq!(beyond_traces(farm, 1000, root.path()).unwrap(), farm);
    }
}
