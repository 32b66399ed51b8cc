//! The merge of manifest fragments: pure, streaming, independent of the order of its input (S21–S25).
//!
//! A [`Fragment`] is what one worker says about one range of frames; it is read strictly, or refused with the field that
//! is wrong. [`merge`] takes all fragments of a [`Source`], one at a time, keeps a line of each in a table, and decides
//! in one walk over the frames who has which; only fragments that survive in part and list their frames are read a
//! second time. [`merge_directory`] and [`verify_directory`] do so with a directory; [`Memory`] needs no disk.
//!
//! Nothing here reads a clock, knows HTTP, or follows a link. `docs/manifest.md` has the format and the rules.

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
