//! The merge of manifest fragments: pure, streaming, independent of the order of its input.

mod fragment;
mod json;
mod moment;
mod name;
mod names;
mod number;
mod range;

pub use fragment::{Fragment, Refusal};
pub use name::{FragmentName, NameError, is_worker_id};
pub use range::{FRAME_MAX, FrameRange};
