//! Rephrases contract N as commands, and replies as contract N. Pure.

mod answer;
mod message;
mod phrase;
mod pull;
mod report;

pub(crate) use answer::{Run, answer_pull, answer_report, list_nodes};
pub(crate) use message::{Message, claimed_node};
pub(crate) use phrase::phrase;
pub(crate) use pull::{PullOrder, WHOLE_MAX, order_one, read_pull};
pub(crate) use report::{Said, read_report};
