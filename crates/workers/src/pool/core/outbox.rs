//! P16: results that the server does not have yet.

use super::{
    Refusal, Spooled,
    ask::{BACKOFF, Sent},
};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use std::collections::BTreeMap;

/// Results by their entry in the spool.
#[derive(Debug, Default)]
pub(super) struct Outbox(BTreeMap<u64, Entry>);

/// A result that the server does not have yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) worker: u64,
    pub(super) assignment: u64,
    pub(super) nonce: Text,
    /// Why the assignment failed, where it did.
    pub(super) error: Option<Text>,
    is_durable: bool,
    /// The server says that it is the key, or the signature, that is wrong. Which it is shows when the key is looked up.
    doubt: Option<Refusal>,
    /// Left by an earlier life.
    is_found: bool,
    sent: Option<Sent>,
    tries: u32,
    not_before: Timestamp,
}

impl Entry {
    pub(super) fn new(worker: u64, (assignment, nonce): (u64, Text), error: Option<Text>) -> Self {
        Self {
            worker,
            assignment,
            nonce,
            error,
            is_durable: false,
            doubt: None,
            is_found: false,
            sent: None,
            tries: 0,
            not_before: Timestamp::default(),
        }
    }
}

impl Outbox {
    pub(super) fn found(spooled: Vec<Spooled>) -> Self {
        let entry = |Spooled { worker, assignment, nonce, is_error }| {
            let error = is_error.then(|| "it failed in an earlier life of the worker".into());
            let entry = Entry::new(worker, (assignment, nonce), error);
            Entry { is_durable: true, is_found: true, ..entry }
        };
        Self((1..).zip(spooled.into_iter().map(entry)).collect())
    }

    pub(super) fn push(&mut self, number: u64, entry: Entry) {
        self.0.insert(number, entry);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, assignment: u64) -> bool {
        self.0.values().any(|entry| entry.assignment == assignment)
    }

    /// Whether something of an earlier life is left.
    pub(super) fn has_found(&self) -> bool {
        self.0.values().any(|entry| entry.is_found)
    }

    /// A worker other than this one whose results are here.
    pub(super) fn other_worker(&self, worker: u64) -> Option<u64> {
        self.0.values().map(|entry| entry.worker).find(|other| *other != worker)
    }

    pub(super) fn stored(&mut self, number: u64) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.is_durable = true;
        }
    }

    /// The call that an answer belongs to.
    pub(super) fn answered(&mut self, number: u64) -> Option<Sent> {
        self.0.get_mut(&number)?.sent.take()
    }

    /// Takes a result out that was answered for good.
    pub(super) fn remove(&mut self, number: u64) -> Option<Entry> {
        self.0.remove(&number)
    }

    /// A result was not taken for now.
    pub(super) fn put_off(&mut self, number: u64, asked: Option<Millis>, now: Timestamp) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.tries = entry.tries.saturating_add(1);
            entry.not_before = now + BACKOFF.patience(entry.tries, asked);
        }
    }

    /// A result was refused for its signature, or for the key.
    pub(super) fn doubt(&mut self, number: u64, refusal: Refusal) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.doubt = Some(refusal);
        }
    }

    /// Takes all doubts away, and gives them.
    pub(super) fn take_doubts(&mut self) -> Vec<(u64, Refusal)> {
        let doubts = self.0.iter_mut().filter_map(|(number, entry)| Some((*number, entry.doubt.take()?)));
        doubts.collect()
    }

    /// When the next result could leave, if only time keeps it back.
    pub(super) fn ready_at(&self) -> Option<Timestamp> {
        if self.in_flight() >= AT_ONCE_MAX {
            return None;
        }
        let ready = self.0.values().filter(|entry| entry.is_durable && entry.sent.is_none());
        ready.map(|entry| entry.not_before).min()
    }

    /// Chooses what leaves now, the oldest first.
    pub(super) fn choose(&self, now: Timestamp) -> Vec<u64> {
        let is_ready = |entry: &Entry| entry.is_durable && entry.sent.is_none() && entry.not_before <= now;
        let ready = self.0.iter().filter(|(_, entry)| is_ready(entry)).map(|(number, _)| *number);
        ready.take(AT_ONCE_MAX.saturating_sub(self.in_flight())).collect()
    }

    pub(super) fn leave(&mut self, number: u64, sent: Sent) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.sent = Some(sent);
        }
    }

    fn in_flight(&self) -> usize {
        self.0.values().filter(|entry| entry.sent.is_some()).count()
    }
}

/// Results that are on their way at once.
const AT_ONCE_MAX: usize = 16;
