//! S1: whose a token is, as the coordinator's door knows it: what is durable, no more and no less.

use crate::network::{Ticket, Token};
use muster_model::{Change, Command, FrameChange, FrameCommand, Name};
use std::collections::BTreeMap;

/// The tokens of the workers of sessions.
#[derive(Default)]
pub(super) struct HttpState(BTreeMap<Name, Token>);

impl HttpState {
    /// Takes over rows that are durable; a new token of a worker ends the one before.
    pub(super) fn follow<'a>(&mut self, rows: impl IntoIterator<Item = &'a Change>) {
        for row in rows {
            match row {
                Change::Frames(FrameChange::Renderer(record)) => {
                    self.0.insert(record.id.clone(), record.token_hash);
                }
                Change::Frames(FrameChange::RendererGone(worker)) => drop(self.0.remove(worker)),
                _ => {}
            }
        }
    }

    /// Whether a request shows a token that is nobody's, or another's than it speaks for.
    pub(super) fn refuses(&self, ticket: &Ticket) -> bool {
        let (Command::Frames(command), Some(token)) = (&*ticket.command, ticket.token) else {
            return false;
        };
        speaker(command).is_some_and(|worker| self.0.get(worker) != Some(&token))
    }
}

/// The worker that a request speaks for, where its token must tell.
fn speaker(command: &FrameCommand) -> Option<&Name> {
    match command {
        FrameCommand::Heartbeat(heartbeat) => Some(&heartbeat.worker),
        FrameCommand::Progress(progress) => Some(&progress.worker),
        FrameCommand::Complete(completion) => completion.worker.as_ref(),
        FrameCommand::Fail { worker, .. } => worker.as_ref(),
        FrameCommand::Ask { worker, .. }
        | FrameCommand::Remove { worker, itself: true }
        | FrameCommand::MoreIds { worker, .. }
        | FrameCommand::Rebind { worker, .. } => Some(worker),
        _ => None,
    }
}
