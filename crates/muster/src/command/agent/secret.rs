//! The node secret, for the agent: from a file or from the environment, never from the command line (I6).

use crate::failure::Failure;
use std::path::Path;

/// Finds the secret that the backend knows this node by.
pub(super) fn find(file: Option<&Path>) -> Result<String, Failure> {
    let secret = match file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            text.map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?
        }
        None => std::env::var("NODE_AGENT_SHARED_SECRET").unwrap_or_default(),
    };
    let secret = secret.trim();
    if secret.is_empty() {
        return Err(Failure::Usage(
            "no node secret: set NODE_AGENT_SHARED_SECRET, or name its file with --secret-file \
             (a server keeps its own in node-secret in its data directory)"
                .to_owned(),
        ));
    }
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(
            "the node secret holds characters that do not fit in a header".to_owned(),
        ));
    }
    Ok(secret.to_owned())
}
