//! The engine: one state, changed by one command after the other.

use crate::{Context, devices::state::State, execute::Execution};
use alloc::{vec, vec::Vec};
use muster_model::{
    Change, Command, Effect, Event, Explanation, FrameQuery, FrameView, Key, Name, PoolCause, PoolJobId,
    PoolStatus, PoolWorkerId, Rejection, Reply, Report, ReportKind, ScheduleRecord, Scope, Settings,
    Strangers, Subject, TaskId, TaskRecord, Timestamp, WorkerMessage, WorkerSupply,
};

/// Everything live, and the rules by which it changes.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    pub(crate) state: State,
}

/// Outcome of a command.
#[derive(Debug)]
pub struct Executed {
    /// Reply to the sender.
    pub result: Result<Reply, Rejection>,
    /// Events, in order.
    pub events: Vec<Event>,
}

impl Engine {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let farm = crate::frames::Farm { settings: settings.frames, ..crate::frames::Farm::default() };
        let pool = crate::pool::Pool::new(settings.pool);
        Self { state: State { settings, farm, pool, ..State::default() } }
    }

    /// Switches a planted bug on.
    #[cfg(feature = "mutants")]
    pub fn plant(&mut self, mutant: crate::Mutant) {
        self.state.plant(mutant);
    }

    /// Facts that a command needs and that memory may have forgotten.
    #[must_use]
    pub fn keys(&self, command: &Command) -> Vec<Key> {
        let state = &self.state;
        let mut keys = match command {
            Command::Submit(submission) => submission.key.iter().cloned().map(Key::Submission).collect(),
            Command::Cancel { job } => vec![Key::Job(*job)],
            Command::Report(report) => self.keys_of(report),
            Command::ReportBatch(batch) => {
                let reports = batch.messages.iter().filter_map(|message| match message {
                    WorkerMessage::Report(report) => Some(&**report),
                    WorkerMessage::Heartbeat { .. } => None,
                });
                reports.flat_map(|report| self.keys_of(report)).collect()
            }
            Command::Frames(command) => crate::frames::keys(&state.farm, command),
            Command::Pool(command) => crate::pool::keys(&state.pool, command),
            Command::Renew { task, .. }
            | Command::Complete { task, .. }
            | Command::FailOrRetry { task, .. } => {
                vec![Key::Task(*task)]
            }
            // Their workers and devices, users and schedules never leave memory.
            Command::Pull(_)
            | Command::Heartbeat { .. }
            | Command::Claim { .. }
            | Command::Tick
            | Command::Sweep
            | Command::Label { .. }
            | Command::ReturnToService { .. }
            | Command::Drain { .. }
            | Command::Resume { .. }
            | Command::SetCap { .. }
            | Command::RotateSecret { .. }
            | Command::Accounts(_)
            | Command::Schedules(_) => Vec::new(),
        };
        keys.retain(|key| self.lacks(key));
        keys
    }

    /// Facts that a report needs and memory lacks; mostly none.
    fn keys_of(&self, report: &Report) -> Vec<Key> {
        let (job, task) = match &report.kind {
            ReportKind::RunStarted { job } | ReportKind::RunFinished { job, .. } => (*job, None),
            ReportKind::Task(about) => (about.job, Some(Key::Task(about.task))),
        };
        let keys = [Key::Report(report.id.clone()), Key::Job(job)].into_iter().chain(task);
        keys.filter(|key| self.lacks(key)).collect()
    }

    /// True if memory cannot answer for this key.
    fn lacks(&self, key: &Key) -> bool {
        let state = &self.state;
        match key {
            Key::Job(job) => !state.job_ids.contains_key(job) && !state.recent.jobs.contains_key(job),
            Key::Task(task) => state.task(*task).is_none() && !state.recent.tasks.contains_key(task),
            Key::Report(id) => state.recent.reports.needs_look_up(id),
            Key::Submission(key) => !state.recent.keys.contains_key(key),
            // Those of sessions and of the pool were looked for where they are kept.
            Key::Session(_) | Key::FrameTask(_) | Key::Chunk(_) => true,
            Key::PoolEnd(_) | Key::Assignment(_) | Key::PoolSubmission(..) => true,
        }
    }

    /// Decides a command, makes it so, and settles what follows.
    pub fn execute(&mut self, command: Command, context: &Context<'_>) -> Executed {
        let mut execution = Execution { state: &mut self.state, context, events: Vec::new() };
        let result = execution.carry_out(command);
        Executed { result, events: execution.events }
    }

    /// Time when the driver must next send `Tick`; an early tick decides nothing.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let State { timers, farm, pool, .. } = &self.state;
        [timers.next(), farm.timers.next(), pool.timers.next()].into_iter().flatten().min()
    }

    /// The rows that changed since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let mut changes = self.state.take_changes();
        changes.extend(self.state.farm.take_changes());
        changes.extend(self.state.pool.take_changes());
        changes.extend(self.state.accounts.take_changes().into_iter().map(Change::Accounts));
        changes.extend(self.state.schedules.take_changes());
        changes
    }

    /// The signs of life since the last call.
    pub fn take_sightings(&mut self) -> Vec<(Name, Timestamp)> {
        self.state.take_sightings()
    }

    /// Lets go of what a commit has made findable in the store.
    pub fn forget(&mut self, committed: &[Change]) {
        let recent = &mut self.state.recent;
        for change in committed {
            match change {
                Change::Report(report) => recent.reports.confirm(&report.id),
                Change::Key(key) => _ = recent.keys.remove(&key.key),
                Change::Task(task) if task.status.is_ended() => _ = recent.tasks.remove(&task.id),
                Change::Job(job) if !job.open => _ = recent.jobs.remove(&job.id),
                Change::Frames(change) => self.state.farm.forget(change),
                Change::Pool(change) => self.state.pool.forget(change),
                _ => {}
            }
        }
    }

    /// Reason why something is not running (Q16); `None` when memory does not know it.
    #[must_use]
    pub fn explain(&self, subject: Subject, now: Timestamp) -> Option<Explanation> {
        crate::devices::explain::explain(&self.state, subject, now)
    }

    /// Names in a scope that nobody has yet (Q6).
    #[must_use]
    pub fn strangers(&self, scope: &Scope) -> Strangers {
        crate::devices::rule::eligible::strangers(&self.state, scope)
    }

    /// Supply of these workers: running devices and target (Q21).
    #[must_use]
    pub fn supplies(&self, workers: &[Name]) -> Vec<WorkerSupply> {
        let known = workers.iter().filter_map(|name| self.state.workers.ix(name));
        known.map(|ix| crate::devices::rule::slot::supply(&self.state, ix)).collect()
    }

    /// A task as it stands; `None` when memory does not know it.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<TaskRecord> {
        let live = self.state.task(id).map(|task| self.state.task_record(id, task));
        live.or_else(|| self.state.recent.tasks.get(&id).map(|task| (**task).clone()))
    }

    /// Effects that must happen outside once the changes taken before are durable.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        self.state.farm.take_effects()
    }

    /// Views of sessions: what memory knows beyond the store.
    #[must_use]
    pub fn frame_view(&self, query: &FrameQuery, now: Timestamp) -> FrameView {
        self.state.farm.view(query, now)
    }

    /// The signs of life of the pool's workers since the last call.
    pub fn take_pool_sightings(&mut self) -> Vec<(PoolWorkerId, Timestamp)> {
        self.state.pool.take_sightings()
    }

    /// The pool, counted.
    #[must_use]
    pub fn pool_status(&self) -> PoolStatus {
        self.state.pool.status()
    }

    /// Reason why a job of the pool is not done yet; `None` when memory does not know it.
    #[must_use]
    pub fn explain_pool(&self, job: PoolJobId) -> Option<PoolCause> {
        self.state.pool.explain(job)
    }

    /// The schedule whose slot is due first, and that slot (Q17).
    #[must_use]
    pub fn first_schedule(&self) -> Option<(Timestamp, &ScheduleRecord)> {
        self.state.schedules.first_due()
    }

    /// The figures in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }
}
