//! Contract S as a worker speaks it: nothing that comes in is trusted, and whatever is wrong is named.

mod fields;
mod read;
mod write;

pub use fields::WireError;
pub use read::{read_heard, read_ids, read_pull, read_registration, read_removal, read_task};
pub use write::{
    Introduction, write_beat, write_fail, write_ids_request, write_introduction, write_progress, write_rebind,
};
