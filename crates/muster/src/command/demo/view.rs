//! The demo while it runs: bars on a terminal, a line now and then anywhere else.

mod court;
mod frames;
mod pool;

use super::{
    agent::Agent,
    conductor::{Counts, Performed},
    court::Court,
    farm::Farm,
    paint::{Paint, grouped},
    pool::Pool,
    tour::Tour,
};
use court::{court_line, court_words};
use frames::{session_line, session_words};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use pool::{BANNED, pool_line, pool_words};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::IsTerminal,
    time::Duration,
};

/// What the demo shows on standard error.
pub(super) struct View {
    paint: Paint,
    slots: usize,
    rate: Rate,
    stage: Option<Stage>,
    /// Runs whose end was told.
    told: BTreeSet<usize>,
    /// How many sessions' ends were told.
    sessions_told: usize,
    /// How many rounds' ends of the pool were told.
    rounds_told: usize,
    /// Whether the end of the court's events was told.
    is_court_told: bool,
    /// Agents and workers that were told to be down, and the court.
    down: BTreeSet<&'static str>,
    /// Workers of the pool that were told to be shut out.
    banned: BTreeSet<&'static str>,
    spoke_at: Duration,
    tour: Tour,
}

/// How things stand.
pub(super) struct Scene<'a> {
    pub(super) runs: &'a [Performed],
    /// The first run of the act.
    pub(super) act: usize,
    pub(super) agents: &'a [Agent],
    /// An agent was cut off from the server, or is.
    pub(super) was_cut: bool,
    pub(super) farm: &'a Farm,
    pub(super) pool: &'a Pool,
    pub(super) court: &'a Court,
    /// Callbacks that the server has taken.
    pub(super) callbacks: u64,
    pub(super) elapsed: Duration,
}

/// The bars of a terminal.
struct Stage {
    all: MultiProgress,
    runs: BTreeMap<usize, ProgressBar>,
    /// Between the runs and the nodes.
    space: ProgressBar,
    nodes: Vec<ProgressBar>,
    session: ProgressBar,
    pool: ProgressBar,
    court: ProgressBar,
    total: ProgressBar,
}

/// Callbacks per second, over the last moments.
#[derive(Default)]
struct Rate(VecDeque<(Duration, u64)>);

impl View {
    pub(super) fn new(slots: usize, nodes: usize, tour: Tour) -> Self {
        let paint = Paint::on(&std::io::stderr());
        let stage = std::io::stderr().is_terminal().then(|| Stage::new(nodes));
        Self {
            paint,
            slots,
            rate: Rate::default(),
            stage,
            told: BTreeSet::new(),
            sessions_told: 0,
            rounds_told: 0,
            is_court_told: false,
            down: BTreeSet::new(),
            banned: BTreeSet::new(),
            spoke_at: Duration::ZERO,
            tour,
        }
    }

    /// Leaves the runs of an act behind: their bars make room for the next ones.
    pub(super) fn end_act(&mut self, runs: &[Performed]) {
        let Some(stage) = &mut self.stage else { return };
        for (number, bar) in std::mem::take(&mut stage.runs) {
            bar.finish_and_clear();
            stage.all.remove(&bar);
            if let Some(run) = runs.get(number) {
                let devices = format!("{:>3}/{:<3}", run.counts.ended(), run.targets());
                let (icon, words) = (icon(self.paint, run), run_words(self.paint, run));
                // A terminal that is gone needs no line.
                let _ = stage.all.println(format!("  {icon} {:<34} {devices} {words}", run.plan.title));
            }
        }
    }

    /// Takes all bars away, before the closing tables.
    pub(super) fn close(&mut self) {
        if let Some(stage) = self.stage.take() {
            // A terminal that cannot be cleared still shows the tables.
            let _ = stage.all.clear();
            eprintln!();
        }
    }

    /// Shows how things stand.
    pub(super) fn show(&mut self, scene: &Scene<'_>) {
        let rate = self.rate.at(scene.elapsed, scene.callbacks);
        self.guide(scene);
        let Some(stage) = &mut self.stage else { return self.speak(scene, rate) };
        for run in scene.runs.iter().skip(scene.act) {
            stage.show_run(run, self.paint);
        }
        for (bar, agent) in stage.nodes.iter().zip(scene.agents) {
            bar.set_message(node_line(self.paint, agent, self.slots, scene.ended_at(agent.pc)));
        }
        stage.session.set_message(session_line(self.paint, scene.farm));
        stage.pool.set_message(pool_line(self.paint, scene.pool));
        stage.court.set_message(court_line(self.paint, scene.court));
        stage.space.tick();
        stage.total.set_message(total_line(self.paint, scene, rate));
    }

    /// Tells what there is to see, above the bars where there are any.
    fn guide(&mut self, scene: &Scene<'_>) {
        for line in self.tour.tell(scene) {
            match &self.stage {
                // A terminal that is gone needs no line.
                Some(stage) => drop(stage.all.println(self.paint.note(&line))),
                None => eprintln!("{line}"),
            }
        }
    }

    /// Tells the end of each run and session, and every few seconds how far the others are.
    fn speak(&mut self, scene: &Scene<'_>, rate: u64) {
        let at = scene.elapsed.as_secs_f64();
        for run in scene.runs.iter().filter(|run| run.is_over()) {
            if self.told.insert(run.number) {
                let took =
                    run.took.map_or_else(String::new, |took| format!(" in {:.1} s", took.as_secs_f64()));
                eprintln!("{at:>5.1} s  {}: {}{took}", run.plan.title, run.status);
            }
        }
        let told = self.sessions_told;
        for session in scene.farm.sessions().iter().skip(told).filter(|session| session.is_over()) {
            self.sessions_told += 1;
            eprintln!("{at:>5.1} s  session {}: {}", session.id, session_words(session));
        }
        self.speak_of_pool(scene);
        if scene.court.took().is_some() && !std::mem::replace(&mut self.is_court_told, true) {
            eprintln!("{at:>5.1} s  court: {}", court_words(scene.court).trim_start());
        }
        self.speak_of_crashes(scene);
        if scene.elapsed.saturating_sub(self.spoke_at) >= BETWEEN_LINES {
            self.spoke_at = scene.elapsed;
            let (rate, taken) = (grouped(rate), grouped(scene.callbacks));
            let open = scene.runs.iter().filter(|run| !run.is_over()).count();
            let frames: u64 = scene.farm.sessions().iter().map(|session| session.done).sum();
            let jobs = scene.pool.jobs().iter().filter(|job| job.is_completed()).count() as u64;
            eprintln!(
                "{at:>5.1} s  {taken} callbacks taken, {rate}/s, {open} runs open, {} frames and {} pool jobs done",
                grouped(frames),
                grouped(jobs)
            );
        }
    }

    /// Tells the end of a round of the pool's jobs, and who was shut out.
    fn speak_of_pool(&mut self, scene: &Scene<'_>) {
        let at = scene.elapsed.as_secs_f64();
        for member in scene.pool.members().iter().filter(|member| member.standing.is_banned()) {
            if self.banned.insert(member.plan.name) {
                eprintln!("{at:>5.1} s  {}: {BANNED}", member.plan.name);
            }
        }
        let ended = scene.pool.rounds().iter().filter(|round| round.took.is_some()).count();
        if ended > self.rounds_told {
            self.rounds_told = ended;
            eprintln!("{at:>5.1} s  pool: {}", pool_words(scene.pool).trim_start());
        }
    }

    /// Tells who was killed, and who is there again.
    fn speak_of_crashes(&mut self, scene: &Scene<'_>) {
        let at = scene.elapsed.as_secs_f64();
        let agents = scene.agents.iter().map(|agent| (agent.pc, agent.down_since().is_some()));
        let workers = scene.farm.workers().iter();
        let workers = workers.map(|worker| (worker.plan.id, worker.down_since().is_some()));
        let members = scene.pool.members().iter();
        let members = members.map(|member| (member.plan.name, member.down_since().is_some()));
        let court = [("the court", scene.court.down_since().is_some())];
        for (name, is_down) in agents.chain(workers).chain(members).chain(court) {
            if is_down && self.down.insert(name) {
                eprintln!("{at:>5.1} s  {name}: {KILLED}");
            } else if !is_down && self.down.remove(name) {
                eprintln!("{at:>5.1} s  {name}: started again");
            }
        }
    }
}

impl Scene<'_> {
    /// How many tasks have ended at a PC.
    fn ended_at(&self, pc: &str) -> u64 {
        self.runs.iter().filter_map(|run| run.per_pc.get(pc)).copied().map(Counts::ended).sum()
    }
}

impl Stage {
    fn new(nodes: usize) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(15));
        let line = || all.add(ProgressBar::new_spinner().with_style(style("  {msg}")));
        let space = line();
        let nodes = std::iter::repeat_with(line).take(nodes).collect();
        let [session, pool, court, total] = std::array::from_fn(|_| line());
        Self { all, runs: BTreeMap::new(), space, nodes, session, pool, court, total }
    }

    fn show_run(&mut self, run: &Performed, paint: Paint) {
        let bar = self.runs.entry(run.number).or_insert_with(|| {
            let bar = ProgressBar::new(run.targets()).with_style(bar_style(paint, "cyan"));
            self.all.insert_before(&self.space, bar)
        });
        if bar.is_finished() {
            return;
        }
        bar.set_position(run.counts.ended().min(run.targets()));
        bar.set_prefix(format!("{} {:<34}", icon(paint, run), run.plan.title));
        bar.set_message(run_words(paint, run));
        if run.is_over() {
            bar.set_style(bar_style(paint, if run.status == "success" { "green" } else { "yellow" }));
            bar.abandon();
        }
    }
}

impl Rate {
    fn at(&mut self, elapsed: Duration, count: u64) -> u64 {
        self.0.push_back((elapsed, count));
        while self.0.len() > 2 && self.0.front().is_some_and(|(at, _)| elapsed.saturating_sub(*at) > WINDOW) {
            self.0.pop_front();
        }
        let (since, before) = self.0.front().copied().unwrap_or_default();
        let span_ms = u64::try_from((elapsed - since).as_millis()).unwrap_or(u64::MAX).max(1);
        (count - before) * 1000 / span_ms
    }
}

fn icon(paint: Paint, run: &Performed) -> String {
    match run.status.as_str() {
        "success" => paint.good("✔"),
        "failed" => paint.bad("✘"),
        "cancelled" => paint.note("■"),
        "running" => paint.accent("▶"),
        _ => paint.faint("·"),
    }
}

fn run_words(paint: Paint, run: &Performed) -> String {
    let counts = run.counts;
    match (run.status.as_str(), run.took) {
        ("running", _) if counts.pending > 0 => {
            format!("{} at work, {} to try again", counts.running, counts.pending)
        }
        ("running", _) => format!("{} at work", counts.running),
        ("success", Some(took)) if counts.failed > 0 => {
            let failed = paint.note(&format!("{} failed for good", counts.failed));
            format!("{:.1} s, {failed}", took.as_secs_f64())
        }
        ("success", Some(took)) => format!("{:.1} s", took.as_secs_f64()),
        ("cancelled", _) if counts.running > 0 => paint.note(&format!("stopping {}", counts.running)),
        ("cancelled" | "failed", _) => paint.note(&run.status),
        _ => paint.faint(&format!("waits in {}", run.plan.queue)),
    }
}

fn node_line(paint: Paint, agent: &Agent, slots: usize, ended: u64) -> String {
    let used = usize::try_from(agent.status.running).unwrap_or(slots).min(slots);
    let (full, free) = ("▰".repeat(used), "▱".repeat(slots - used));
    let slots = format!("{}{}", paint.accent(&full), paint.faint(&free));
    let state = match agent.down_since() {
        Some(_) => paint.bad(KILLED),
        None if agent.is_cut_off() => paint.bad(&format!("cut off, {} in its spool", agent.status.spooled)),
        None => paint.faint(&format!("{:>4} in its spool", agent.status.spooled)),
    };
    format!("{}  {slots}  {used:>2} slots  {:>6} done  {state}", paint.strong(agent.pc), grouped(ended))
}

fn total_line(paint: Paint, scene: &Scene<'_>, rate: u64) -> String {
    let rate = paint.strong(&format!("{} callbacks/s", grouped(rate)));
    let words = format!("{} taken, {:.0} s", grouped(scene.callbacks), scene.elapsed.as_secs_f64());
    format!("{rate}  {}", paint.faint(&words))
}

fn bar_style(paint: Paint, colour: &str) -> ProgressStyle {
    let bar = if paint.is_on() { format!("{{bar:28.{colour}/black.bright}}") } else { "{bar:28}".to_owned() };
    style(&format!("  {{prefix}} {bar} {{pos:>3}}/{{len:<3}} {{msg}}")).progress_chars("━╸─")
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are fixed")
}

const KILLED: &str = "killed (kill -9)";
const BETWEEN_LINES: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_millis(1500);
