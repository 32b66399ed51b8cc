//! What a test may do to the disk: let the server die before any change, or leave out what not every file system knows.

#[cfg(not(test))]
pub(super) use absent::{knows_noreplace, step, sync};
#[cfg(test)]
pub(super) use armed::{after, knows_noreplace, step, sync, without_noreplace};

#[cfg(not(test))]
mod absent {
    use rustix::{fd::AsFd, fs, io::Errno};

    /// Called before each change to the disk.
    #[allow(clippy::unnecessary_wraps, reason = "fails in tests")]
    pub(crate) const fn step() -> Result<(), Errno> {
        Ok(())
    }

    /// Makes a file or a directory durable.
    pub(crate) fn sync(file: impl AsFd) -> Result<(), Errno> {
        fs::fsync(file)
    }

    /// Whether the flag may be tried.
    pub(crate) const fn knows_noreplace() -> bool {
        true
    }
}

#[cfg(test)]
mod armed {
    use rustix::{fd::AsFd, io::Errno};
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        static DIED: Cell<bool> = const { Cell::new(false) };
        static NOREPLACE: Cell<bool> = const { Cell::new(true) };
    }

    /// Fails once the granted changes are used up, and for ever after: the dead do not clean up.
    pub(crate) fn step() -> Result<(), Errno> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => {
                DIED.set(true);
                Err(Errno::IO)
            }
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
        LEFT.set(None);
        (result, DIED.replace(false))
    }

    /// A change like any other; no test cuts the power, and thousands of crashes are quicker without.
    pub(crate) fn sync(_file: impl AsFd) -> Result<(), Errno> {
        step()
    }

    /// Whether the flag may be tried.
    pub(crate) fn knows_noreplace() -> bool {
        NOREPLACE.get()
    }

    /// Runs something on a disk that does not know the flag.
    pub(crate) fn without_noreplace(run: impl FnOnce()) {
        NOREPLACE.set(false);
        run();
        NOREPLACE.set(true);
    }
}
