//! Answers on their way from the driver to the tasks that wait for them.
//!
//! A task that is woken from outside of its runtime costs a lock and often a system call. So the driver wakes one task for
//! all answers of a batch: that one passes the others on from inside of the runtime, where a wake-up is a push to a queue.

use crate::{driver::Handle, write_path::Answer};
use muster_model::{Rejection, Reply};
use std::mem;
use tracing::debug;

/// An answer, and those of others that came along.
pub(crate) struct Delivered {
    pub(crate) result: Result<Reply, Rejection>,
    others: OthersAnswers,
}

/// Answers that are passed on when this is dropped, wherever that happens: nobody waits in vain because another request
/// was given up.
#[derive(Default)]
struct OthersAnswers(Vec<Answer<Handle>>);

impl Delivered {
    /// Passes the others' answers on and gives its own.
    pub(crate) fn open(self) -> Result<Reply, Rejection> {
        drop(self.others);
        self.result
    }
}

/// Sends all answers of a batch.
pub(crate) fn deliver(answers: Vec<Answer<Handle>>) {
    let mut rest = answers;
    while let Some(answer) = rest.pop() {
        let others = OthersAnswers(mem::take(&mut rest));
        let Err(mut unsent) = send(answer, others) else { return };
        rest = mem::take(&mut unsent.0);
    }
}

/// Sends an answer; gives the others back if nobody waits for it any more.
fn send(answer: Answer<Handle>, others: OthersAnswers) -> Result<(), OthersAnswers> {
    let Answer { handle, result } = answer;
    handle.reply.send(Delivered { result, others }).map_err(|unsent| {
        // The sender went away; what was decided stands, and a repeat will find it.
        debug!("an answer found nobody");
        unsent.others
    })
}

impl Drop for OthersAnswers {
    fn drop(&mut self) {
        for answer in self.0.drain(..) {
            let _ = send(answer, Self::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::{self, Receiver};

    fn batch(count: usize) -> (Vec<Answer<Handle>>, Vec<Receiver<Delivered>>) {
        let pairs = (0..count).map(|_| {
            let (reply, receiver) = oneshot::channel();
            (Answer { handle: Handle { reply, place: None }, result: Err(Rejection::JobUnknown) }, receiver)
        });
        pairs.unzip()
    }

    #[test]
    fn one_of_them_passes_the_others_on() {
        let (answers, mut receivers) = batch(5);
        deliver(answers);
        let mut first = receivers.pop().unwrap();
        assert!(receivers.iter_mut().all(|receiver| receiver.try_recv().is_err()), "they are on their way");
        assert_eq!(first.try_recv().unwrap().open(), Err(Rejection::JobUnknown));
        for mut receiver in receivers {
            assert_eq!(receiver.try_recv().unwrap().open(), Err(Rejection::JobUnknown));
        }
    }

    #[test]
    fn who_went_away_keeps_nobody_waiting() {
        let (answers, mut receivers) = batch(5);
        drop(receivers.split_off(3));
        deliver(answers);
        // Given up after it was sent to.
        drop(receivers.pop());
        for mut receiver in receivers {
            assert!(receiver.try_recv().is_ok());
        }
    }
}
