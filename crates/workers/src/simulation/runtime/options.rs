//! What a worker is told at its start.

use super::super::wire::Introduction;
use muster_model::Timestamp;
use std::{fmt, path::PathBuf, sync::Arc};
use tokio::net::TcpListener;

/// What a worker is told at its start.
pub struct Options {
    /// Who it is.
    pub who: Introduction,
    /// Where it may write, if not everywhere.
    pub output_root: Option<PathBuf>,
    /// Where tasks are brought; without it they are asked for (S3).
    pub listener: Option<TcpListener>,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("who", &self.who)
            .field("output_root", &self.output_root)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}
