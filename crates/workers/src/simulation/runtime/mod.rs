//! The worker as it runs: the core, with a network, renderers and a clock around it.

mod interface;

pub use interface::{Options, Report};

use super::{
    Master, Task,
    core::{Action, Core, End, Offer, Over, Registration, Seen, Settings, Trouble, Work},
    push::{self, Hatch, Pushed},
    render::{Commission, Renderer, Told},
};
use interface::log;
use muster_contract_simulation::{HeartbeatResponse, PullReply, RegisterRequest};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::{
    Text,
    exchange::{Exchange, pause_until, publish},
};
use std::{path::PathBuf, sync::Arc};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// Something that happened outside the core.
enum Happened {
    Registered(u64, Result<Registration, Trouble>),
    Beaten(u64, Result<HeartbeatResponse, Trouble>),
    Rebound(u64, Result<HeartbeatResponse, Trouble>),
    Pulled(u64, Result<PullReply, Trouble>),
    Told(u64, Result<(), Trouble>),
    Sent(u64, Result<(), Trouble>),
    Unregistered(u64, Result<(), Trouble>),
    Seen(u64, Seen),
    Remarked(u64, Text),
    Ended(u64, End),
}

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
    exchange: Exchange<Happened>,
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
                happened = self.exchange.next() => self.note(happened),
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

    /// Tells the core what happened.
    fn note(&mut self, happened: Happened) {
        let now = (self.now)();
        self.core.heard_of(self.master.epoch(), now);
        match happened {
            Happened::Registered(number, answer) => self.core.registered(number, answer, now),
            Happened::Beaten(number, answer) => self.core.beaten(number, answer, now),
            Happened::Rebound(number, answer) => self.core.rebound(number, answer, now),
            Happened::Pulled(number, answer) => self.core.pulled(number, answer, now),
            Happened::Told(number, answer) => self.core.told(number, answer, now),
            Happened::Sent(work, answer) => self.core.sent(work, answer, now),
            Happened::Unregistered(number, answer) => self.core.unregistered(number, answer, now),
            Happened::Seen(work, seen) => self.core.progressed(work, seen, now),
            Happened::Remarked(work, remark) => self.core.remarked(work, remark),
            Happened::Ended(work, end) => {
                self.exchange.ended(work);
                self.core.ended(work, end, now);
            }
        }
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
        // Whoever brought it may have lost patience; it will bring it again.
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
                    self.call(async move |master| Happened::Beaten(beat.number, master.beat(&beat).await))
                }
                Action::Rebind(rebind) => self
                    .call(async move |master| Happened::Rebound(rebind.number, master.rebind(&rebind).await)),
                Action::Pull { number, wait } => self.pull(number, wait),
                Action::Begin(work) => self.begin(work),
                Action::Kill(work) => self.exchange.kill(work),
                Action::Pace(pace) => drop(self.pace.send_replace(pace)),
                Action::Progress(progress) => self.call(async move |master| {
                    Happened::Told(progress.number, master.progress(&progress).await)
                }),
                Action::Send { work, report } => {
                    self.call(async move |master| Happened::Sent(work, master.report(&report).await))
                }
                Action::Unregister(number) => {
                    self.call(async move |master| Happened::Unregistered(number, master.unregister().await))
                }
                Action::Note(note) => log(&note),
            }
        }
    }

    fn register(&mut self, number: u64) {
        self.drop_pulls();
        let who = Arc::clone(&self.who);
        self.call(async move |master| Happened::Registered(number, master.register(&who).await));
    }

    fn pull(&mut self, number: u64, wait: Millis) {
        let master = Arc::clone(&self.master);
        self.pulls.retain(|pull| !pull.is_finished());
        self.pulls
            .push(self.exchange.spawn(async move { Happened::Pulled(number, master.pull(wait).await) }));
    }

    /// Calls the master; what it says happens to the core.
    fn call<F>(&self, call: impl FnOnce(Arc<Master>) -> F + Send + 'static)
    where
        F: Future<Output = Happened> + Send,
    {
        let master = Arc::clone(&self.master);
        self.exchange.spawn(async move { call(master).await });
    }

    fn begin(&mut self, work: Work) {
        let (number, cancel) = (work.number, self.exchange.begin(work.number));
        tracing::info!(task = %work.task.id, attempt = work.task.attempt, frames = %work.task.frames,
            chunk = work.task.ids.chunk, "begun");
        let rendering = tokio::spawn(self.render(work, cancel));
        self.exchange.spawn(async move {
            let broke_off = |error| End::Failed { error: format!("the renderer broke off: {error}").into() };
            Happened::Ended(number, rendering.await.unwrap_or_else(broke_off))
        });
    }

    fn render(&self, work: Work, cancel: CancellationToken) -> impl Future<Output = End> + Send + 'static {
        let (master, renderer) = (Arc::clone(&self.master), Arc::clone(&self.renderer));
        let (who, root) = (Arc::clone(&self.who), self.output_root.clone());
        let (pace, report) = (self.pace.subscribe(), self.exchange.reporter());
        async move {
            let number = work.number;
            let tell = move |told| {
                report(match told {
                    Told::Seen(seen) => Happened::Seen(number, seen),
                    Told::Remark(remark) => Happened::Remarked(number, remark),
                });
            };
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

/// S3: how long a master may hold back the answer to a pull.
const PULL_WAIT: Millis = Millis(20_000);
