//! Rephrases contract S as commands, and replies and records as contract S. Pure.

mod completion;
mod coverage;
mod endpoint;
pub(crate) mod limit;
mod operate;
mod phrase;
mod registration;
mod report;
mod session;
mod show;
mod status;
mod word;
mod worker;

pub(crate) use completion::{Handed, Manifest, read_completion};
pub(crate) use coverage::{Covered, Coverer};
pub(crate) use endpoint::Origin;
pub(crate) use limit::FRAGMENT_BYTES;
pub(crate) use operate::{
    read_assignment, read_broadcast, read_note, read_reason, read_request_for_ids, read_retry,
};
pub(crate) use phrase::phrase;
pub(crate) use registration::read_registration;
pub(crate) use report::{WAIT_MS_MAX, read_fail, read_heartbeat, read_progress, read_rebind, wait_of};
pub(crate) use session::{eta_seconds, frames_a_second, read_parts, read_session, show_session};
pub(crate) use show::{
    show_chunk, show_completed, show_diagnostic, show_entry, show_ids, show_replay, show_task,
};
pub(crate) use status::{show_status, show_warning, workers};
pub(crate) use word::{CHUNK_WORDS, SESSION_WORDS, is_about, read_chunk_state, read_session_status};
pub(crate) use worker::{show_beat, show_detail, show_state, show_worker};

use muster_model::Digest;
use sha2::{Digest as _, Sha256};

/// Tells whether two bodies say the same: key order and white space do not matter.
pub(crate) fn digest(body: &serde_json::Value) -> Digest {
    let hash: [u8; 32] = Sha256::digest(body.to_string().as_bytes()).into();
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    Digest(u128::from_be_bytes(half))
}
