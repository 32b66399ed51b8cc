//! Guard process that outlives a killed test and cleans up after it.

use crate::binaries::Binaries;
use std::{
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A process that stops a server and deletes its directory when this value, or the process that holds it, is gone.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    /// Watches over `home`, with the server's files in `data` therein.
    pub(crate) fn over(home: &Path, binaries: &Binaries) -> io::Result<Self> {
        let stop = binaries.command("pg_ctl");
        let mut guard = Command::new("sh");
        guard.args(["-c", SCRIPT, "sh"]).arg(home).arg(stop.get_program()).args(stop.get_args());
        // A group of its own: what is sent to the test's group at the terminal does not end it.
        guard
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        guard.spawn().map(Self)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Closes its input, then waits until it has cleaned up.
        let _ = self.0.wait();
    }
}

/// Reads until the end of its input, which nobody ever writes to.
const SCRIPT: &str = r#"home=$1; shift; read -r nothing
"$@" stop -D "$home/data" -m immediate -t 30
rm -rf "$home""#;
