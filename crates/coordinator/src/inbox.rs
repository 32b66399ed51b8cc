//! The driver's inbox: messages come from many threads and are taken all at once.
//!
//! A channel wakes its receiver for each message. While a batch is with the store, nothing that is decided can be
//! answered before that batch is durable, so most of these wake-ups would be in vain. Here the receiver says what it
//! waits for, and requests gather meanwhile.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Messages on their way to one receiver.
pub(crate) struct Inbox<M> {
    state: Mutex<State<M>>,
    arrived: Condvar,
}

struct State<M> {
    messages: Vec<M>,
    /// The wait of a sleeping receiver; `None`: it is awake and looks before it sleeps.
    wait: Option<Wait>,
    /// True if one of the messages is urgent.
    is_urgent: bool,
    is_closed: bool,
}

/// Messages that end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Any message.
    Any,
    /// An urgent message, or so many that it pays to begin with them.
    Urgent,
}

/// The receiver is gone.
#[derive(Debug)]
pub(crate) struct Closed;

impl<M> Inbox<M> {
    pub(crate) fn new() -> Self {
        let state = State { messages: Vec::new(), wait: None, is_urgent: false, is_closed: false };
        Self { state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Adds a message that can wait until the receiver has time for it.
    pub(crate) fn send(&self, message: M) -> Result<(), Closed> {
        self.add(message, false)
    }

    /// Adds a message that the receiver waits for whatever else it does.
    pub(crate) fn send_urgent(&self, message: M) -> Result<(), Closed> {
        self.add(message, true)
    }

    fn add(&self, message: M, is_urgent: bool) -> Result<(), Closed> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Closed);
        }
        state.messages.push(message);
        state.is_urgent |= is_urgent;
        let wakes = state.wait.is_some_and(|wait| state.ends(wait));
        if wakes {
            state.wait = None;
        }
        drop(state);
        if wakes {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes all messages, in the order of their arrival; waits for them at most that long.
    pub(crate) fn take(&self, wait: Wait, timeout: Duration) -> Vec<M> {
        let mut state = self.lock();
        if !state.ends(wait) && !timeout.is_zero() {
            state.wait = Some(wait);
            let waited = self.arrived.wait_timeout_while(state, timeout, |state| !state.ends(wait));
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
            state.wait = None;
        }
        state.is_urgent = false;
        let room = state.messages.len().min(ROOM_MAX);
        mem::replace(&mut state.messages, Vec::with_capacity(room))
    }

    /// Refuses further messages and drops those that nobody took.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let dropped = mem::take(&mut state.messages);
        drop(state);
        drop(dropped);
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> State<M> {
    fn ends(&self, wait: Wait) -> bool {
        match wait {
            Wait::Any => !self.messages.is_empty(),
            Wait::Urgent => self.is_urgent || self.messages.len() >= GATHERED,
        }
    }
}

/// So many requests are decided while a batch is with the store: then one wake-up serves many, and a machine with cores to
/// spare decides and commits at the same time.
const GATHERED: usize = 32;

/// Capacity kept for the next messages at most.
const ROOM_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, thread};

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn messages_are_taken_together_in_order() {
        let inbox = Inbox::new();
        for n in 0..3 {
            inbox.send(n).unwrap();
        }
        assert_eq!(inbox.take(Wait::Any, LONG), [0, 1, 2]);
        assert!(inbox.take(Wait::Any, Duration::ZERO).is_empty());
    }

    #[test]
    fn who_waits_for_urgent_messages_gets_the_others_along() {
        let inbox = Arc::new(Inbox::new());
        inbox.send(1).unwrap();
        assert_eq!(inbox.take(Wait::Urgent, Duration::ZERO), [1], "the wait is over");
        let receiver = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || inbox.take(Wait::Urgent, LONG))
        };
        inbox.send(2).unwrap();
        inbox.send_urgent(3).unwrap();
        assert_eq!(receiver.join().unwrap(), [2, 3]);
    }

    #[test]
    fn many_messages_end_a_wait_for_urgent_ones() {
        let inbox = Inbox::new();
        for n in 0..GATHERED {
            inbox.send(n).unwrap();
        }
        assert_eq!(inbox.take(Wait::Urgent, LONG).len(), GATHERED);
    }

    #[test]
    fn a_closed_inbox_drops_and_refuses() {
        let inbox = Inbox::new();
        let message = Arc::new(());
        inbox.send(Arc::clone(&message)).unwrap();
        inbox.close();
        assert_eq!(Arc::strong_count(&message), 1);
        assert!(inbox.send(message).is_err());
    }
}
