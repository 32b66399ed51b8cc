//! Rephrases contract Q as commands, and replies and records as contract Q. Pure.

mod artifact;
mod attempt;
mod device;
mod explain;
mod pc;
mod phrase;
mod progress;
mod retry;
mod rpc;
mod run;
mod schedule;
mod status;
mod submission;
mod task_device;
mod warning;

pub(crate) use artifact::show_artifact;
pub(crate) use attempt::show_attempts;
pub(crate) use device::{read_labels, read_note, show_device};
pub(crate) use explain::{KINDS as EXPLAINED_KINDS, read_subjects};
pub use pc::show_alert;
pub(crate) use pc::{LiveFacts, read_cap, show_history, show_pc};
pub(crate) use phrase::{as_postgrest, phrase};
pub(crate) use progress::{Progress, count_rows, rate_since};
pub(crate) use retry::{Retry, failure_of, read_retry, show_failures};
pub(crate) use rpc::{Ending, read_claim, read_complete, read_fail, read_nothing, read_renew};
pub(crate) use run::{show_listed, show_state};
pub(crate) use schedule::{MISSED_WORDS, read_schedule, show_schedule};
pub(crate) use status::{
    DEVICE_WORDS, ROW_WORDS, RUN_WORDS, RunFilter, read_device_status, read_row_status, read_run_status,
};
pub(crate) use submission::{read_key, read_submission};
pub(crate) use task_device::{show_station, show_task, show_task_row};
pub(crate) use warning::show_warnings;
