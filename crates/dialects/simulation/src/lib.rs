//! Contract S: sessions of frames over remote workers.

pub mod effects;
pub mod output;
