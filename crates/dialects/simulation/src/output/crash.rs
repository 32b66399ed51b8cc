//! Where a test may let the server die: before any change to the disk.

#[cfg(not(test))]
use rustix::io::Errno;

/// Called before each change to the disk; does nothing outside of tests.
#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps, reason = "fails in tests")]
pub(super) const fn step() -> Result<(), Errno> {
    Ok(())
}

#[cfg(test)]
pub(super) use armed::{after, step};

#[cfg(test)]
mod armed {
    use rustix::io::Errno;
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// Fails once the granted changes are used up, and for ever after: the dead do not clean up.
    pub(crate) fn step() -> Result<(), Errno> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => Err(Errno::IO),
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }

    /// Runs something that may change the disk so many times; says whether it died.
    pub(crate) fn after<T>(changes: u32, run: impl FnOnce() -> T) -> (T, bool) {
        LEFT.set(Some(changes));
        let result = run();
        (result, LEFT.replace(None) == Some(0))
    }
}
