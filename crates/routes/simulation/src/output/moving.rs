//! Moves that never write over anything, and never copy: a name is here or there.

use super::{
    crash,
    directory::{Directory, Seen},
    error::OutputError,
};
use rustix::{
    fs::{self, AtFlags, FileType, RenameFlags},
    io::Errno,
};
use std::ffi::OsStr;

/// A name in a directory.
pub(super) type Place<'a> = (&'a Directory, &'a OsStr);

/// How a move went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// It is where it should be, and stays there when the power fails.
    Done,
    /// The name has another owner.
    Taken,
    /// It was not there.
    Gone,
}

/// Moves something to a name that must be free.
pub(super) fn rename_new(from: Place<'_>, to: Place<'_>) -> Result<Move, OutputError> {
    let rename = || match crash::knows_noreplace() {
        true => fs::renameat_with(from.0.handle(), from.1, to.0.handle(), to.1, RenameFlags::NOREPLACE),
        false => Err(Errno::INVAL),
    };
    match step(rename) {
        Ok(()) => settle(from, to),
        Err(Errno::EXIST) => taken(from, to),
        Err(Errno::NOENT) => Ok(Move::Gone),
        // Network file systems do not know the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_without_flag(from, to),
        Err(error) => Err(failed(from, error)),
    }
}

/// Moves something to the first free one of the names that `name_of` gives to 0, 1, 2, …
pub(super) fn rename_fresh(
    from: Place<'_>,
    to: &Directory,
    name_of: impl Fn(u32) -> String,
) -> Result<Move, OutputError> {
    for number in 0..NAMES_TRIED_MAX {
        match rename_new(from, (to, OsStr::new(&name_of(number))))? {
            Move::Taken => {}
            moved => return Ok(moved),
        }
    }
    Err(to.in_the_way(name_of(0), "a free name"))
}

/// A directory never takes the place of a file, nor of a directory that holds something; a file is given its second name
/// before it loses the first.
fn rename_without_flag(from: Place<'_>, to: Place<'_>) -> Result<Move, OutputError> {
    let Some(seen) = from.0.look(from.1)? else { return Ok(Move::Gone) };
    let moved = if seen.kind == FileType::Directory {
        rename_directory(from, to)
    } else {
        step(|| fs::linkat(from.0.handle(), from.1, to.0.handle(), to.1, AtFlags::empty()))
            .and_then(|()| step(|| fs::unlinkat(from.0.handle(), from.1, AtFlags::empty())))
    };
    match moved {
        Ok(()) => settle(from, to),
        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => taken(from, to),
        Err(Errno::NOENT) => Ok(Move::Gone),
        Err(error) => Err(failed(from, error)),
    }
}

fn rename_directory(from: Place<'_>, to: Place<'_>) -> Result<(), Errno> {
    step(|| fs::renameat(from.0.handle(), from.1, to.0.handle(), to.1))
}

/// A crash between the two halves of [`rename_without_flag`] leaves one file with both names.
fn taken(from: Place<'_>, to: Place<'_>) -> Result<Move, OutputError> {
    let identity = |seen: Seen| (seen.kind != FileType::Directory).then_some(seen.identity);
    let ours = from.0.look(from.1)?.and_then(identity);
    if ours.is_none() || ours != to.0.look(to.1)?.and_then(identity) {
        return Ok(Move::Taken);
    }
    step(|| fs::unlinkat(from.0.handle(), from.1, AtFlags::empty())).map_err(|error| failed(from, error))?;
    settle(from, to)
}

/// The new name first: in between, a crash may show both, never none.
fn settle(from: Place<'_>, to: Place<'_>) -> Result<Move, OutputError> {
    to.0.sync()?;
    from.0.sync()?;
    Ok(Move::Done)
}

fn step(change: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    crash::step().and_then(|()| change())
}

fn failed(from: Place<'_>, error: Errno) -> OutputError {
    OutputError::disk("move", from.0.path_of(from.1), error)
}

/// Nobody comes late ten thousand times.
pub(super) const NAMES_TRIED_MAX: u32 = 10_000;
