//! A call that is made again and again, one at a time.

use muster_model::{Millis, Timestamp};
use muster_worker_kit::Backoff;

/// When a call was made last, and when it is made next.
#[derive(Debug, Default)]
pub(super) struct Ask {
    on_its_way: Option<Sent>,
    tries: u32,
    next_at: Timestamp,
}

/// A call on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    /// The access it was made with.
    pub(super) generation: u64,
}

impl Ask {
    /// When the next one may leave; nothing while one is on its way.
    pub(super) fn ready_at(&self) -> Option<Timestamp> {
        self.on_its_way.is_none().then_some(self.next_at)
    }

    pub(super) const fn is_on_its_way(&self) -> bool {
        self.on_its_way.is_some()
    }

    pub(super) fn leave(&mut self, sent: Sent) {
        self.on_its_way = Some(sent);
    }

    /// Takes the call back that an answer belongs to; nothing where nobody waits for that answer any more.
    pub(super) fn take(&mut self, number: u64) -> Option<Sent> {
        self.on_its_way.take_if(|sent| sent.number == number)
    }

    /// Waits no longer for the call on its way, if one is.
    pub(super) fn abandon(&mut self) -> Option<Sent> {
        self.on_its_way.take()
    }

    /// It went well: the next leaves then.
    pub(super) fn again_at(&mut self, at: Timestamp) {
        (self.tries, self.next_at) = (0, at);
    }

    /// It found nobody: the next leaves after a while, and not before the server wants to be asked.
    pub(super) fn put_off(&mut self, asked: Option<Millis>, now: Timestamp) {
        self.tries = self.tries.saturating_add(1);
        self.next_at = now + BACKOFF.patience(self.tries, asked);
    }
}

/// The delays between tries of one call.
pub(super) const BACKOFF: Backoff = Backoff {
    delays_ms: &[0, 500, 1_000, 2_000, 4_000, 8_000],
    delay_ms_max: 10_000,
    retry_after_ms_max: 300_000,
};
