//! Threads without which a server is none.

use std::thread;
use tracing::error;

/// Ends the process when the thread that holds this panics.
///
/// A process without its driver would keep its port and answer nobody; one that is gone is started anew, or replaced by
/// another server.
pub(crate) struct Vital;

impl Drop for Vital {
    fn drop(&mut self) {
        if thread::panicking() {
            let name = thread::current().name().unwrap_or_default().to_owned();
            error!(thread = name, "a thread that nothing goes on without panicked; the process ends");
            std::process::abort();
        }
    }
}
