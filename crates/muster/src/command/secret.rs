//! The secret that a program shows to a server: from a file or from the environment, never from the command line (I6).

use crate::failure::Failure;
use std::path::Path;

/// What a secret is for, and where it is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    name: &'static str,
    variable: &'static str,
    /// What a server calls its own, in its data directory.
    file: &'static str,
}

/// What the backend knows a node by (N3).
pub(super) const NODE: Kind =
    Kind { name: "node secret", variable: "NODE_AGENT_SHARED_SECRET", file: "node-secret" };

/// What simulation workers enrol with (S1).
pub(super) const ENROLMENT: Kind =
    Kind { name: "enrolment secret", variable: "MUSTER_ENROL_SECRET", file: "enrol-secret" };

impl Kind {
    /// Finds the secret.
    pub(super) fn find(self, file: Option<&Path>) -> Result<String, Failure> {
        let secret = match file {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                text.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?
            }
            None => std::env::var(self.variable).unwrap_or_default(),
        };
        let secret = secret.trim();
        let Self { name, variable, file } = self;
        if secret.is_empty() {
            return Err(Failure::Usage(format!(
                "no {name}: set {variable}, or name its file with --secret-file \
                 (a server keeps its own in {file} in its data directory)"
            )));
        }
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::Usage(format!("the {name} holds characters that do not fit in a header")));
        }
        Ok(secret.to_owned())
    }
}
