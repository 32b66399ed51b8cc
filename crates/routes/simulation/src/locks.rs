//! One lock per key, for what must not interleave.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// A lock for every key that anybody holds or waits for.
#[derive(Debug)]
pub(crate) struct Locks<K>(Mutex<HashMap<K, Arc<Turn<()>>>>);

impl<K: Hash + Eq> Locks<K> {
    /// Waits until nobody else holds the key.
    pub(crate) async fn lock(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() >= SWEEP_AT {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(key).or_default())
        };
        turn.lock_owned().await
    }
}

impl<K> Default for Locks<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Keys that nobody holds any more are let go of when there are so many.
const SWEEP_AT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_held_once() {
        let locks = Locks::<u32>::default();
        let held = locks.lock(1).await;
        let _other = locks.lock(2).await;
        let mut waiting = std::pin::pin!(locks.lock(1));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("somebody else holds it"),
            () = std::future::ready(()) => {}
        }
        drop(held);
        waiting.await;
    }

    #[tokio::test]
    async fn keys_are_let_go_of() {
        let locks = Locks::<usize>::default();
        let _held = locks.lock(0).await;
        for key in 1..3 * SWEEP_AT {
            locks.lock(key).await;
        }
        let turns = locks.0.lock().unwrap();
        assert!(turns.len() <= SWEEP_AT && turns.contains_key(&0));
    }
}
