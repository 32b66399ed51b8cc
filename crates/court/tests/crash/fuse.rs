//! Ends the world before one operation: from there on the disk does nothing any more.

use muster_court::{Fuse, Operation};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A process that dies before its nth operation.
pub(crate) struct Dying {
    burnt: AtomicUsize,
    last: usize,
}

impl Dying {
    pub(crate) fn before(last: usize) -> Arc<Self> {
        Arc::new(Self { burnt: AtomicUsize::new(0), last })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.burnt() > self.last
    }

    /// How many operations were asked for.
    pub(crate) fn burnt(&self) -> usize {
        self.burnt.load(Ordering::SeqCst)
    }
}

impl Fuse for Dying {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        if self.burnt.fetch_add(1, Ordering::SeqCst) < self.last {
            return Ok(());
        }
        Err(io::Error::other("the process is dead"))
    }
}
