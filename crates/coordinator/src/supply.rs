//! Supply of workers: running devices and target (Q21).

use crate::{Coordinator, Refusal, driver::Message};
use muster_model::{Name, WorkerSupply};
use tokio::sync::oneshot;

impl Coordinator {
    /// The figures of Q3 for these workers, all from one moment; unknown workers are left out.
    ///
    /// # Errors
    /// Too many waiting requests, or no term runs.
    pub async fn supplies(&self, workers: Vec<Name>) -> Result<Vec<WorkerSupply>, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::Supplies(workers, reply)).map_err(|_| Refusal::Unavailable)?;
        answer.await.map_err(|_| Refusal::Unavailable)
    }
}
