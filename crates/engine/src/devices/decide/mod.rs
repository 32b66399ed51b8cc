//! One file per command: says what it would make true. Changes nothing.

pub(crate) mod claim;
pub(crate) mod job;
pub(crate) mod operate;
pub(crate) mod pull;
pub(crate) mod report;
pub(crate) mod tick;

use crate::kernel::{Context, Decided, Decision, Refused};
