//! The worker as it runs: the core, with a network, renderers and a clock around it.

use super::{
    Master, Task,
    core::{self, Action, Core, End, Loss, Note, Offer, Over, Settings, Status, Trouble, Work},
    push::{self, Hatch, Pushed},
    render::{Commission, Renderer, Told},
};
use muster_contract_simulation::RegisterRequest;
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::{
    Text,
    exchange::{Event, Exchange, pause_until, publish},
};
use std::{fmt, path::PathBuf, sync::Arc};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// A worker at work.
pub struct Worker {
    core: Core,
    master: Arc<Master>,
    renderer: Arc<Renderer>,
    who: Arc<RegisterRequest>,
    output_root: Option<Arc<PathBuf>>,
    listener: Option<TcpListener>,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pulls: Vec<AbortHandle>,
    pace: watch::Sender<Ratio>,
    exchange: Exchange<Self>,
    report: watch::Sender<Report>,
}

impl Worker {
    /// A worker that has not begun.
    #[must_use]
    pub fn new(options: Options, master: Master, renderer: Renderer) -> Self {
        let Options { who, output_root, listener, now } = options;
        let pull_wait = listener.is_none().then_some(PULL_WAIT);
        let settings = Settings { slots: who.slots, pull_wait, output_root: output_root.clone() };
        let core = Core::new(settings, now());
        let report = watch::Sender::new(Report::new(&who.worker, who.slots, &core.status()));
        Self {
            pace: watch::Sender::new(core.status().pace),
            core,
            master: Arc::new(master),
            renderer: Arc::new(renderer),
            who: Arc::new(who),
            output_root: output_root.map(Arc::new),
            listener,
            now,
            pulls: Vec::new(),
            exchange: Exchange::new(),
            report,
        }
    }

    /// Its status, whenever that changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Report> {
        self.report.subscribe()
    }

    /// Works until it is asked to leave, or the master will have none of it.
    pub async fn run(mut self, leave: CancellationToken) -> Over {
        let (push, mut pushed) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let serving = self.listener.take().map(|listener| {
            let hatch = Hatch::new(Arc::clone(&self.who.worker), Arc::clone(&self.master), push.clone());
            tokio::spawn(push::serve(listener, hatch, ended.clone()))
        });
        let mut is_leaving = false;
        let over = loop {
            self.act();
            self.show();
            if let Some(over) = self.core.over() {
                break over.clone();
            }
            let pause = pause_until(self.core.next_wake(), (self.now)());
            tokio::select! {
                event = self.exchange.next() => self.handle(event),
                Some(request) = pushed.recv() => self.pushed(request),
                () = leave.cancelled(), if !is_leaving => {
                    is_leaving = true;
                    self.leave();
                }
                () = tokio::time::sleep(pause) => self.core.wake((self.now)()),
            }
        };
        // Requests that nobody looked at are answered too: without a receiver the listener knows that the worker ended.
        drop(pushed);
        ended.cancel();
        if let Some(serving) = serving {
            let _ = serving.await;
        }
        over
    }

    /// Handles an event. The core hears first of the newest term that any answer came from.
    fn handle(&mut self, event: Event<Self>) {
        let now = (self.now)();
        self.core.heard_of(self.master.epoch(), now);
        event(self, now);
    }

    fn pushed(&mut self, request: Pushed) {
        match request {
            Pushed::Task(task, answer) => self.offered(*task, answer),
            Pushed::Removed(answer) => {
                tracing::info!("the master called: it removed this worker");
                self.core.dismissed((self.now)());
                let _ = answer.send(());
            }
        }
    }

    fn offered(&mut self, task: Task, answer: oneshot::Sender<Offer>) {
        let id = task.id.clone();
        let offer = self.core.offered(task, (self.now)());
        if offer != Offer::Taken {
            tracing::warn!(task = %id, ?offer, "a task was brought and is not taken");
        }
        // The caller may have timed out; it will send the task again.
        let _ = answer.send(offer);
    }

    /// No new work; a question that waits at the master is taken back, so that nothing is handed to who is leaving.
    fn leave(&mut self) {
        self.core.leave((self.now)());
        self.drop_pulls();
    }

    fn drop_pulls(&mut self) {
        self.pulls.drain(..).for_each(|pull| pull.abort());
    }

    /// Does what the core wants done.
    fn act(&mut self) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::Register(number) => self.register(number),
                Action::Beat(beat) => {
                    self.call(beat.number, Core::beaten, async move |master| master.beat(&beat).await);
                }
                Action::Rebind(rebind) => {
                    self.call(rebind.number, Core::rebound, async move |master| master.rebind(&rebind).await);
                }
                Action::Pull { number, wait } => {
                    self.pulls.retain(|pull| !pull.is_finished());
                    let pull = self.call(number, Core::pulled, async move |master| master.pull(wait).await);
                    self.pulls.push(pull);
                }
                Action::Begin(work) => self.begin(work),
                Action::Kill(work) => self.exchange.kill(work),
                Action::Pace(pace) => drop(self.pace.send_replace(pace)),
                Action::Progress(progress) => {
                    self.call(progress.number, Core::told, async move |master| {
                        master.progress(&progress).await
                    });
                }
                Action::Send { work, report } => {
                    self.call(work, Core::sent, async move |master| master.report(&report).await);
                }
                Action::Unregister(number) => {
                    self.call(number, Core::unregistered, async |master| master.unregister().await);
                }
                Action::Note(note) => log(&note),
            }
        }
    }

    fn register(&mut self, number: u64) {
        self.drop_pulls();
        let who = Arc::clone(&self.who);
        self.call(number, Core::registered, async move |master| master.register(&who).await);
    }

    /// Calls the master; `answered` tells the core its answer to the call with this number.
    fn call<T: Send + 'static, F: Future<Output = T> + Send>(
        &self,
        number: u64,
        answered: fn(&mut Core, u64, T, Timestamp),
        call: impl FnOnce(Arc<Master>) -> F + Send + 'static,
    ) -> AbortHandle {
        let master = Arc::clone(&self.master);
        let call = async move { call(master).await };
        self.exchange.spawn(call, move |worker, answer, now| answered(&mut worker.core, number, answer, now))
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        tracing::info!(task = %work.task.id, attempt = work.task.attempt, frames = %work.task.frames,
            chunk = work.task.ids.chunk, "begun");
        let rendering = tokio::spawn(self.render(work, cancel));
        self.exchange.spawn(rendering, move |worker, ended, now| {
            let broke_off = |error| End::Failed { error: format!("the renderer broke off: {error}").into() };
            worker.exchange.ended(number);
            worker.core.ended(number, ended.unwrap_or_else(broke_off), now);
        });
    }

    fn render(&self, work: Work, cancel: CancellationToken) -> impl Future<Output = End> + Send + 'static {
        let (master, renderer) = (Arc::clone(&self.master), Arc::clone(&self.renderer));
        let (who, root) = (Arc::clone(&self.who), self.output_root.clone());
        let (pace, number) = (self.pace.subscribe(), work.number);
        let tell = self.exchange.reporter(move |worker: &mut Self, told, now| match told {
            Told::Seen(seen) => worker.core.progressed(number, seen, now),
            Told::Remark(remark) => worker.core.remarked(number, remark),
        });
        async move {
            let commission = Commission {
                task: &work.task,
                worker: &who.worker,
                cameras: who.cameras,
                root: root.as_ref().map(|root| root.as_path()),
                master: &master,
                pace,
                cancel: &cancel,
                tell: &tell,
            };
            renderer.run(&commission).await
        }
    }

    fn show(&self) {
        let report = Report::new(&self.who.worker, self.who.slots, &self.core.status());
        publish(&self.report, report);
    }
}

/// The options of a worker.
pub struct Options {
    /// Its description.
    pub who: RegisterRequest,
    /// Directory that it may write to; nothing means everywhere.
    pub output_root: Option<PathBuf>,
    /// Listener for pushed tasks; without it the worker pulls (S3).
    pub listener: Option<TcpListener>,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("who", &self.who)
            .field("output_root", &self.output_root)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// The status of a worker, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub worker: Text,
    /// In one or two words; the worst that is true.
    pub state: Text,
    /// The newest term of a master that was heard of.
    pub epoch: u64,
    /// Tasks held.
    pub held: usize,
    /// Upper limit of these.
    pub slots: u32,
    /// Frames made in all.
    pub frames: u64,
    /// Pace of rendering, in percent.
    pub pace_percent: u32,
}

impl Report {
    fn new(worker: &Text, slots: u32, status: &Status) -> Self {
        Self {
            worker: worker.clone(),
            state: state(status),
            epoch: status.epoch,
            held: status.held,
            slots,
            frames: status.frames,
            pace_percent: status.pace.0 / 10_000,
        }
    }
}

fn state(status: &Status) -> Text {
    match status {
        Status { leaving: true, .. } => "leaving".into(),
        Status { state: None, .. } => "registering".into(),
        Status { reachable: false, .. } => "no answer".into(),
        Status { state: Some(state), .. } => state.clone(),
    }
}

/// Logs a note of the core.
fn log(note: &Note) {
    match note {
        Note::Registered { epoch } => tracing::info!(epoch, "registered"),
        Note::NotRegistered(trouble) => not_registered(trouble),
        Note::StaleMaster { epoch } => tracing::warn!(
            epoch,
            "a master of an older epoch answered and is not obeyed; if its store was replaced, start the worker anew"
        ),
        Note::Lost(loss) => {
            tracing::warn!("{}; what was held is stopped, and the worker registers anew", why(*loss))
        }
        Note::State(state) => tracing::info!(%state, "the master says how the worker stands"),
        Note::Paced(pace) => tracing::info!(factor = pace.value(), "the master sets the pace"),
        Note::NotTaken { task, why } => {
            tracing::warn!(task = task.as_deref().unwrap_or("-"), %why, "a task is not done here");
        }
        Note::Stopping { task } => {
            tracing::info!(%task, "the task is no longer this worker's: it is stopped")
        }
        Note::Taken(core::Report::Complete { task, .. }) => tracing::info!(%task, "completed"),
        Note::Taken(core::Report::Fail { task, error, .. }) => tracing::warn!(%task, %error, "failed"),
        Note::GivenUp { report, refusal } => {
            let (core::Report::Complete { task, .. } | core::Report::Fail { task, .. }) = report;
            tracing::warn!(%task, status = refusal.status, detail = %refusal.detail,
                "the master did not take the result; it is given up");
        }
    }
}

fn not_registered(trouble: &Trouble) {
    match trouble {
        Trouble::NoAnswer(_) => tracing::warn!("no answer to a registration; trying again"),
        Trouble::Unauthorized => tracing::warn!("the enrolment secret is not taken any more; trying again"),
        Trouble::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "registration refused; trying again");
        }
    }
}

const fn why(loss: Loss) -> &'static str {
    match loss {
        Loss::Unreachable => "the master does not answer",
        Loss::Stalled => "the worker was asleep for too long",
        Loss::Ordered => "the master gave the worker up",
        Loss::Unknown => "the master does not know the token: another worker of this name, or another store",
    }
}

/// S3: how long a master may hold back the answer to a pull.
const PULL_WAIT: Millis = Millis(20_000);
