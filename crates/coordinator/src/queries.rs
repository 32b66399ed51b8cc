//! Questions about what memory holds, put to the driver; nothing changes. What memory forgot is read from the store.

use crate::{Coordinator, Refusal, driver::Message};
use muster_model::{
    Cause, Explanation, FrameCause, FrameQuery, FrameRejection, FrameView, Name, PoolCause, PoolJobId,
    PoolRejection, PoolStatus, Rejection, RendererState, ScheduleRejection, Scope, Strangers, Subject,
    TaskId, TaskRecord, WorkerSupply,
};
use tokio::sync::oneshot;

impl Coordinator {
    /// The names in a scope that nobody has yet, so that a typing error is noticed (Q6).
    pub async fn strangers(&self, scope: Scope) -> Result<Strangers, Refusal> {
        self.query(|reply| Message::Strangers(scope, reply)).await
    }

    /// Running devices and target (Q3) of these workers, all from one moment; unknown workers are left out (Q21).
    pub async fn supplies(&self, workers: Vec<Name>) -> Result<Vec<WorkerSupply>, Refusal> {
        self.query(|reply| Message::Supplies(workers, reply)).await
    }

    /// Facts about sessions that only memory has.
    pub async fn frames(&self, query: FrameQuery) -> Result<FrameView, Refusal> {
        self.query(|reply| Message::Frames(query, reply)).await
    }

    /// The pool, counted.
    pub async fn pool_status(&self) -> Result<PoolStatus, Refusal> {
        self.query(Message::PoolStatus).await
    }

    /// A task as it stands: by memory, which knows the live lease, else by the store.
    ///
    /// # Errors
    /// `Rejected(TaskUnknown)`, too many waiting requests, or a failed read.
    pub async fn task(&self, id: TaskId) -> Result<TaskRecord, Refusal> {
        match self.query(|reply| Message::Task(id, reply)).await? {
            Some(task) => Ok(task),
            None => Ok(self.read(move |reader| reader.task(id)).await?.ok_or(Rejection::TaskUnknown)?),
        }
    }

    /// Sends a question to the driver and waits for the answer.
    async fn query<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Result<T, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send_urgent(message(reply)).map_err(|_| Refusal::Unavailable)?;
        answer.await.map_err(|_| Refusal::Unavailable)
    }
}

impl Coordinator {
    /// Explains why something is not running (Q16).
    ///
    /// # Errors
    /// `Rejected(…Unknown)` for what does not exist; too many waiting requests, no term, or a failed read.
    pub async fn explain(&self, subject: Subject) -> Result<Explanation, Refusal> {
        let Some(mut explanation) = self.explained(subject.clone()).await? else {
            let cause = self.explain_ended(&subject).await?;
            return Ok(Explanation { subject, cause, heartbeat_late_since: None });
        };
        if let (Subject::Renderer(name), Cause::Frames(cause)) = (&subject, &mut explanation.cause) {
            self.fill_reason(name, cause).await?;
        }
        Ok(explanation)
    }

    /// Reason why a job of the pool is not done yet; `None` when memory does not know it.
    pub async fn explain_pool(&self, job: PoolJobId) -> Result<Option<PoolCause>, Refusal> {
        match self.explained(Subject::PoolJob(job)).await? {
            Some(Explanation { cause: Cause::Pool(cause), .. }) => Ok(Some(cause)),
            _ => Ok(None),
        }
    }

    async fn explained(&self, subject: Subject) -> Result<Option<Explanation>, Refusal> {
        self.query(|reply| Message::Explain(subject, reply)).await
    }

    /// Adds the reason of a worker's state, which is written down with the change and not kept in memory (S11).
    async fn fill_reason(&self, name: &Name, cause: &mut FrameCause) -> Result<(), Refusal> {
        let (state, reason) = match cause {
            FrameCause::RendererLost { reason, .. } => (RendererState::Lost, reason),
            FrameCause::RendererQuarantined { reason, .. } => (RendererState::Quarantined, reason),
            FrameCause::RendererRemoved { reason, .. } => (RendererState::Removed, reason),
            FrameCause::RendererDegraded { reason, .. } => (RendererState::Degraded, reason),
            _ => return Ok(()),
        };
        let name = name.clone();
        let changes = self.read(move |reader| reader.transitions(&name, 1)).await?;
        *reason = changes.into_iter().find(|change| change.to == state).map(|change| change.cause);
        Ok(())
    }

    async fn explain_ended(&self, subject: &Subject) -> Result<Cause, Refusal> {
        Ok(match subject.clone() {
            Subject::Job(id) => {
                let job = self.read(move |reader| reader.job(id)).await?;
                let job = job.ok_or(Rejection::JobUnknown)?;
                Cause::JobEnded { status: job.status, outcome: Some(job.outcome) }
            }
            Subject::Task(id) => {
                let task = self.read(move |reader| reader.task(id)).await?;
                Cause::TaskEnded { status: task.ok_or(Rejection::TaskUnknown)?.status }
            }
            Subject::Session(id) => {
                let session = self.read(move |reader| reader.session(&id)).await?;
                let session = session.ok_or(Rejection::Frames(FrameRejection::SessionUnknown))?;
                Cause::Frames(FrameCause::SessionEnded { status: session.status })
            }
            Subject::Range(id) => {
                let range = self.read(move |reader| reader.frame_task(&id)).await?;
                let range = range.ok_or(Rejection::Frames(FrameRejection::TaskUnknown))?;
                Cause::Frames(FrameCause::RangeEnded { status: range.status })
            }
            Subject::PoolJob(id) => {
                let job = self.read(move |reader| reader.pool_job(id)).await?;
                let job = job.ok_or(Rejection::Pool(PoolRejection::JobUnknown))?;
                Cause::Pool(PoolCause::Ended { status: job.status() })
            }
            Subject::Lane(_) => return Err(Rejection::LaneUnknown.into()),
            Subject::Worker(_) => return Err(Rejection::WorkerUnknown.into()),
            Subject::Renderer(_) => return Err(Rejection::Frames(FrameRejection::RendererUnknown).into()),
            Subject::Member(_) => return Err(Rejection::Pool(PoolRejection::WorkerUnknown).into()),
            Subject::Schedule(_) => return Err(Rejection::Schedules(ScheduleRejection::Unknown).into()),
        })
    }
}
