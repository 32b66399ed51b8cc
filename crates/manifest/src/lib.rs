//! The merge of manifest fragments: pure, streaming, independent of the order of its input (S21–S25).
//!
//! A [`Fragment`] is a worker's report about one range of frames. It is read strictly, or refused with the name of the
//! wrong field. [`merge`] reads all fragments of a [`Source`] one by one, keeps a line of each in a table, and assigns
//! every frame in one walk over the frames. Only fragments that survive in part and list their frames are read a second
//! time. [`merge_directory`] and [`verify_directory`] work on a directory; [`Memory`] needs no disk. The server writes
//! [`Session`] and [`CompletionLine`]s beside the fragments.
//!
//! Nothing here reads a clock, knows HTTP, or follows a link. `docs/manifest.md` has the format and the rules.

mod cameras;
mod completions;
mod folder;
mod fragment;
mod json;
mod merge;
mod name;
mod number;
mod paths;
mod range;
mod recall;
mod session;
mod sweep;
mod table;
mod time_order;
mod totals;
mod verify;

pub use completions::{COMPLETIONS, CompletionError, CompletionLine};
pub use folder::{LOG, MANIFEST, SESSION, merge_directory};
pub use fragment::{Fragment, Refusal};
pub use merge::{
    FileRefusal, Memory, MergeError, MergeOptions, MergeReport, Merged, Progress, Refused, Source, Take,
    TakeLine, Unreadable, Warning, merge,
};
pub use name::{FragmentName, NameError, is_worker_id};
pub use range::{FRAME_MAX, FrameRange};
pub use session::{GivenUpRange, Replay, Session, SessionError};
pub use sweep::Overlap;
pub use time_order::{ReorderedRange, Skipped};
pub use verify::{Difference, VerifyReport, verify_directory};
