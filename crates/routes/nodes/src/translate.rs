//! Rephrases contract N as commands, and replies as contract N. Pure.

mod answer;
mod artifact;
mod message;
mod phrase;
mod pull;
mod range;
mod report;

pub(crate) use answer::{Run, answer_pull, answer_report, list_nodes};
pub(crate) use artifact::{Allowed, check_lease, essence, read_artifact, storage_path};
pub(crate) use message::{Message, claimed_node};
pub(crate) use phrase::phrase;
pub(crate) use pull::{PullOrder, WHOLE_MAX, order_one, read_pull};
pub(crate) use range::{Span, Wanted, read_content_range, read_range};
pub(crate) use report::{Said, read_report};
