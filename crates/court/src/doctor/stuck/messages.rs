//! Messages that nobody has got.

use super::{Findings, Suspect, Visit, sentence};
use crate::{Fault, Place};
use jiff::SignedDuration;

impl Visit<'_> {
    pub(super) fn messages(&self, findings: &mut Findings) -> Result<(), Fault> {
        for (id, since) in self.suspects(Place::MessagesPending, ENVOYS_PATIENCE)? {
            let suspect = Suspect { what: "message", place: Place::MessagesPending, id: &id, since };
            let Some(message) = self.read(&suspect, findings) else { continue };
            let waiting = || match self.is_running("envoy") {
                true => suspect.stuck(
                    "the envoy has not posted it",
                    "look into the envoy's log: the other side may be away, or ask for patience",
                ),
                false => {
                    suspect.stuck("no envoy is running", "start `muster court envoy`, or `muster court run`")
                }
            };
            findings.stuck.push(self.misplaced(&suspect, &message).unwrap_or_else(waiting));
        }
        self.failed(findings)
    }

    /// Messages that were given up. Only the latest are read: of a dead outlet there may be thousands.
    fn failed(&self, findings: &mut Findings) -> Result<(), Fault> {
        let mut failed = self.suspects(Place::MessagesFailed, SignedDuration::MIN)?;
        failed.sort_by_key(|(_, since)| std::cmp::Reverse(*since));
        for (id, since) in failed.iter().take(READ_MAX) {
            let suspect = Suspect { what: "message", place: Place::MessagesFailed, id, since: *since };
            let error = self.folder.read(suspect.place, id).ok().and_then(|message| message.text("error"));
            let why = match error {
                Some(error) => format!("it could not be posted: {}", sentence(&error)),
                None => "it could not be posted".to_owned(),
            };
            findings.stuck.push(suspect.stuck(why, FAILED));
        }
        if failed.len() > READ_MAX {
            let more = failed.len() - READ_MAX;
            findings.notes.push(format!(
                "{more} more messages could not be posted, in {}",
                Place::MessagesFailed.path()
            ));
        }
        Ok(())
    }
}

/// Three polls of the envoy.
const ENVOYS_PATIENCE: SignedDuration = SignedDuration::from_secs(15);
const READ_MAX: usize = 20;
const FAILED: &str = "mend the cause and move it back to queue/messages/pending; or remove it";
