//! Lets one request at a time write a part: the newest, because an older one may hang on a dead connection.

use crate::StoreError;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The pens of all parts that somebody writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pens(Arc<Mutex<HashMap<String, Arc<Mutex<u64>>>>>);

/// The right to write one part, until somebody else takes it.
#[derive(Debug)]
pub(super) struct Pen {
    pens: Pens,
    part: String,
    turn: u64,
    /// The newest turn; held during each write, so that nobody takes over in the middle of one.
    newest: Arc<Mutex<u64>>,
}

impl Pens {
    /// Takes the pen of a part from whoever has it, once their last write is through.
    pub(super) fn take(&self, part: String) -> Pen {
        let newest = Arc::clone(lock(&self.0).entry(part.clone()).or_default());
        let turn = {
            let mut newest = lock(&newest);
            *newest += 1;
            *newest
        };
        Pen { pens: self.clone(), part, turn, newest }
    }
}

impl Pen {
    /// The part it writes.
    pub(super) fn part(&self) -> &str {
        &self.part
    }

    /// Keeps others from taking over for the moment; refused when somebody has.
    pub(super) fn hold(&self) -> Result<MutexGuard<'_, u64>, StoreError> {
        let newest = lock(&self.newest);
        if *newest == self.turn { Ok(newest) } else { Err(StoreError::Superseded) }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        let mut pens = lock(&self.pens.0);
        // One reference is the map's, one is ours: nobody else writes this part.
        if Arc::strong_count(&self.newest) <= 2 {
            pens.remove(&self.part);
        }
    }
}

/// A panic elsewhere leaves a number and a map whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N21: of two uploads of one path the newer goes on; nothing is remembered of those that ended.
    #[test]
    fn the_newest_has_the_pen() {
        let pens = Pens::default();
        let (first, second) = (pens.take("a".to_owned()), pens.take("a".to_owned()));
        assert!(matches!(first.hold(), Err(StoreError::Superseded)));
        assert!(second.hold().is_ok() && pens.take("b".to_owned()).hold().is_ok());
        drop(first);
        assert!(second.hold().is_ok());
        drop(second);
        assert!(lock(&pens.0).is_empty());
    }
}
