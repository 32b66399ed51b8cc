//! One file per rule.

pub(crate) mod cut;
pub(crate) mod health;
pub(crate) mod id_range;
pub(crate) mod split;
