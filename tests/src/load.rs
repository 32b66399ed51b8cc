//! The load of a fleet, and a ledger of all that was promised to it.

mod callers;
pub mod check;
pub mod jobs;
mod ledger;
pub mod sessions;
mod watcher;

pub use callers::{Clients, start};
pub use ledger::{Acked, End, Ledger, Phase};

use crate::Answer;
use std::{io, time::Duration};

/// A server that is busy says so and is asked again, as one that is gone.
pub(crate) fn patient(answer: io::Result<Answer>) -> io::Result<Answer> {
    let answer = answer?;
    if answer.status == 503 {
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    Ok(answer)
}

const PAUSE: Duration = Duration::from_millis(10);
