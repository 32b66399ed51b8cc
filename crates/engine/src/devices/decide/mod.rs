//! One file per command: says what it would make true. Changes nothing.

pub(crate) mod attempt;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod operate;
pub(crate) mod presence;
pub(crate) mod pull;
pub(crate) mod report;
pub(crate) mod settle;
pub(crate) mod submit;
pub(crate) mod tick;

use crate::kernel::{Context, Decided, Decision, Refused};
