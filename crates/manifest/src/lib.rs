//! The merge of manifest fragments: pure, streaming, independent of the order of its input.

mod clock;
mod directory;
mod folder;
mod fragment;
mod json;
mod memory;
mod merge;
mod moment;
mod name;
mod names;
mod number;
mod range;
mod recall;
mod session;
mod sweep;
mod table;
mod tally;
mod verify;

pub use clock::Skipped;
pub use directory::{LOG, MANIFEST, SESSION, merge_directory};
pub use fragment::{Fragment, Refusal};
pub use memory::Memory;
pub use merge::{
    FileRefusal, MergeError, MergeOptions, MergeReport, Merged, Progress, Refused, Source, Take, Unreadable,
    Warning, merge,
};
pub use name::{FragmentName, NameError, is_worker_id};
pub use range::{FRAME_MAX, FrameRange};
pub use session::{Replay, Session, SessionError};
pub use sweep::Overlap;
pub use verify::{Difference, VerifyReport, verify_directory};
