//! What a scope names and nobody has yet (Q6).

use crate::{Coordinator, Refusal, driver::Message};
use muster_model::{Scope, Strangers};
use tokio::sync::oneshot;

impl Coordinator {
    /// What a scope names that is not known now, so that whoever mistyped it hears of it.
    ///
    /// # Errors
    /// Too many waiting requests, or no term runs.
    pub async fn strangers(&self, scope: Scope) -> Result<Strangers, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::Strangers(scope, reply)).map_err(|_| Refusal::Unavailable)?;
        answer.await.map_err(|_| Refusal::Unavailable)
    }
}
