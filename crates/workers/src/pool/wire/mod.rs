//! What worker and server say to each other, as bytes (P1–P7).

mod read;
mod write;

pub use read::{
    WireError, read_assignment, read_beat, read_spooled, read_started, read_submitted, read_token,
    read_worker, read_workers,
};
pub use write::{
    Introduction, write_introduction, write_key, write_login, write_poll, write_resume, write_submission,
    write_worker,
};

/// A server takes no longer request by default (`server.body_limit_bytes`), and the spool no longer entry.
pub const BODY_BYTES_MAX: usize = 1 << 20;
