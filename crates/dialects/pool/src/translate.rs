//! Rephrases the contract's words as commands, and replies as the contract's words. Pure.

mod draft;
mod explain;
mod judge;
pub(crate) mod limit;
mod phrase;
mod registration;
mod result;
mod show;
mod specs;
mod work;

pub(crate) use draft::{read_batch, read_draft, read_key};
pub(crate) use explain::explain;
pub(crate) use judge::{judge, read_key_text};
pub(crate) use phrase::{Words, phrase, words};
pub(crate) use registration::{read_beat, read_public_key, read_reason, read_registration};
pub(crate) use result::{Handed, read_result};
pub(crate) use show::{
    show_assignment, show_created, show_job, show_receipt, show_registered, show_taken, show_worker,
};
pub(crate) use work::{Polled, Worked, read_poll, read_work};
