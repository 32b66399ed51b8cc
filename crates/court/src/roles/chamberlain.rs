//! Watches the host (C19).

use crate::{
    Clock, Document, Fault, Folder, Id, Series, config,
    document::document,
    emit,
    file::{MessageKind, NewMessage, Priority, Urgency, instant, stamp},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Looks after the host until it is told to stop; a host that cannot be read at all is an error.
pub async fn run(
    folder: Arc<Folder>,
    settings: config::Chamberlain,
    channel: String,
    stop: CancellationToken,
) -> Result<(), SenseError> {
    folder.beat(ROLE, Clock.now());
    let mut looks = interval(config::seconds(settings.every_s));
    let mut beats = interval(BEAT);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mind = Chamberlain::new(settings, channel);
    let mut senses = Senses::new(folder.home())?;
    // The processors' load is what happens between two readings, so the first look needs a moment to look at.
    tokio::time::sleep(FIRST_READING).await;
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = beats.tick() => folder.beat(ROLE, Clock.now()),
            _ = looks.tick() => look(&folder, &mind, &mut senses),
        }
    }
}

/// One look; what goes wrong is tried again at the next, and until then the king sees the last one grow old.
fn look(folder: &Folder, mind: &Chamberlain, senses: &mut Senses) {
    match senses.sample() {
        Ok(sample) => {
            if let Err(error) = mind.look(folder, &sample, Clock.now()) {
                tracing::warn!(%error, "the host's health was not written");
            }
        }
        Err(error) => tracing::warn!(%error, "the host's health is not known"),
    }
}

/// Judges readings and writes them down.
#[derive(Clone, Debug)]
pub struct Chamberlain {
    limits: config::Chamberlain,
    channel: String,
}

impl Chamberlain {
    /// A chamberlain that tells this channel of changes.
    #[must_use]
    pub const fn new(limits: config::Chamberlain, channel: String) -> Self {
        Self { limits, channel }
    }

    /// Writes down how the host is, and tells people when its colour has changed.
    ///
    /// An alert that is due stands in the file, with its message's id, until the message is written: a crash on the way
    /// neither loses nor doubles it.
    pub fn look(&self, folder: &Folder, sample: &Sample, now: Timestamp) -> Result<Colour, Fault> {
        let before = last(folder);
        if let Some(before) = &before {
            self.tell(folder, before, now)?;
        }
        let before = before.and_then(|before| Colour::from_word(&before.text("health")?));
        let colour = Colour::at(sample.highest(), &self.limits);
        let calm = report(folder, sample, colour, now);
        if before.unwrap_or(Colour::Green) == colour {
            write(folder, &calm)?;
            return Ok(colour);
        }
        let mut alarmed = calm.clone();
        alarmed.set("alert", &alert(&folder.next_id(Series::Message, now)?, before));
        write(folder, &alarmed)?;
        self.tell(folder, &alarmed, now)?;
        write(folder, &calm)?;
        Ok(colour)
    }

    /// Writes the message of an alert that stands in the file.
    fn tell(&self, folder: &Folder, resources: &Document, now: Timestamp) -> Result<(), Fault> {
        let Some(alert) = resources.object("alert") else { return Ok(()) };
        let Some(id) = alert.text("message").and_then(|id| Id::parse(&id).ok()) else { return Ok(()) };
        emit::say(folder, &id, &self.message(resources, &alert), now)
    }

    /// The message; it follows from the file alone, so it is the same after a restart.
    fn message(&self, resources: &Document, alert: &Document) -> NewMessage {
        let health = resources.text("health").unwrap_or_default();
        let before = alert.text("from").map(|from| format!(" (was {from})")).unwrap_or_default();
        let system = resources.object("system").unwrap_or_default();
        let percent = |key: &str| system.raw(key).unwrap_or("?").to_owned();
        let meaning = Colour::from_word(&health).map_or("", meaning);
        let content = format!(
            "Host health is {health}{before}: CPU {} %, memory {} %, disk {} %. {meaning}",
            percent("cpu_percent"),
            percent("memory_percent"),
            percent("disk_percent"),
        );
        let context = document! {"health": health};
        let (channel, urgency) = (self.channel.clone(), Urgency::High);
        NewMessage { kind: MessageKind::Report, channel, urgency, content, context }
    }
}

/// The last report; an unreadable file counts as none.
fn last(folder: &Folder) -> Option<Document> {
    Document::parse(&folder.bytes(&folder.path(RESOURCES)).ok()?).ok()
}

fn write(folder: &Folder, resources: &Document) -> Result<(), Fault> {
    folder.replace(&folder.path(RESOURCES), resources.to_file().as_bytes())
}

fn report(folder: &Folder, sample: &Sample, colour: Colour, now: Timestamp) -> Document {
    let mut system = sample.document();
    system.set("roles", &roles(folder, now));
    document! {"timestamp": stamp(now), "health": colour.as_str(), "system": system}
}

fn roles(folder: &Folder, now: Timestamp) -> Document {
    let mut roles = Document::new();
    for (name, beat) in folder.heartbeats() {
        let age_s = beat.age(now).as_secs();
        let role =
            document! {"pid": beat.pid, "at": stamp(beat.at), "age_s": age_s, "alive": beat.is_alive(now)};
        roles.set(&name, &role);
    }
    roles
}

fn alert(message: &Id, from: Option<Colour>) -> Document {
    let mut alert = document! {"message": message};
    if let Some(from) = from {
        alert.set("from", from.as_str());
    }
    alert
}

const fn meaning(colour: Colour) -> &'static str {
    match colour {
        Colour::Green => "Everything is taken up again.",
        Colour::Yellow => "Only events of high priority are taken up.",
        Colour::Orange | Colour::Red => "No new events are taken up until this changes.",
    }
}

muster_model::words! {
    /// The health of the host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Colour {
        /// Everything.
        Green = "green",
        /// Only what is urgent.
        Yellow = "yellow",
        /// Nothing more.
        Orange = "orange",
        /// Nothing more, and it is serious.
        Red = "red",
    }
}

/// The host's health by the chamberlain's last report. A report that is missing, empty or stale counts as orange.
#[must_use]
pub fn health(folder: &Folder, now: Timestamp) -> Colour {
    reported(folder, now).unwrap_or(Colour::Orange)
}

/// The colour that the king goes by (C19): the host's health if it is reported to obey it, else green, which holds nothing
/// back.
#[must_use]
pub fn obeyed_health(folder: &Folder, king: &config::King, now: Timestamp) -> Colour {
    if king.obey_health { health(folder, now) } else { Colour::Green }
}

impl Colour {
    /// The colour of a percentage in use.
    #[must_use]
    pub fn at(percent: f64, limits: &config::Chamberlain) -> Self {
        if percent >= limits.red_percent {
            Self::Red
        } else if percent >= limits.orange_percent {
            Self::Orange
        } else if percent >= limits.yellow_percent {
            Self::Yellow
        } else {
            Self::Green
        }
    }

    /// True if the king may begin something of this priority.
    #[must_use]
    pub fn accepts(self, priority: Priority) -> bool {
        match self {
            Self::Green => true,
            Self::Yellow => priority == Priority::High,
            Self::Orange | Self::Red => false,
        }
    }
}

/// The reported colour, unless the report is stale or from the future.
fn reported(folder: &Folder, now: Timestamp) -> Option<Colour> {
    let document = last(folder)?;
    let at = instant(&document.text("timestamp")?)?;
    let is_fresh = now.duration_since(at).abs() <= AGE_MAX;
    Colour::from_word(&document.text("health")?).filter(|_| is_fresh)
}

/// A reading of the host: percentages in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Of the processors' time since the last reading.
    pub cpu_percent: f64,
    /// Of the memory, as far as it cannot be had at once.
    pub memory_percent: f64,
    /// Of the file system that the court lies on.
    pub disk_percent: f64,
    /// Processes that run or wait to, over the last minute.
    pub load: Option<f64>,
}

impl Sample {
    /// The scarcest of the three.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.cpu_percent.max(self.memory_percent).max(self.disk_percent)
    }

    /// The reading as it stands in `state/resources.json`.
    #[must_use]
    fn document(&self) -> Document {
        let (cpu, memory, disk) = (self.cpu_percent, self.memory_percent, self.disk_percent);
        let mut document = Document::new();
        for (key, percent) in [("cpu_percent", cpu), ("memory_percent", memory), ("disk_percent", disk)] {
            document.set_raw(key, format!("{percent:.1}"));
        }
        if let Some(load) = self.load {
            document.set_raw("load", format!("{load:.2}"));
        }
        document
    }
}

/// Reads the host; remembers the last reading of the processors.
#[derive(Debug)]
struct Senses {
    home: PathBuf,
    times: CpuTimes,
}

/// The reason why the host cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SenseError {
    /// The system refused.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// The reason.
        error: io::Error,
    },
    /// It reads otherwise than Linux writes it.
    #[error("{0} is not as Linux writes it")]
    Strange(&'static str),
}

/// Processor time since the host started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    busy: u64,
    total: u64,
}

impl Senses {
    fn new(home: &Path) -> Result<Self, SenseError> {
        Ok(Self { home: home.into(), times: CpuTimes::read()? })
    }

    /// Reads the host; the processors' part is what they did since the last reading.
    fn sample(&mut self) -> Result<Sample, SenseError> {
        let times = CpuTimes::read()?;
        let cpu_percent = times.percent_since(self.times);
        self.times = times;
        let memory_percent = memory(&text(MEMORY)?).ok_or(SenseError::Strange(MEMORY))?;
        let load = text(LOAD).ok().and_then(|text| text.split(' ').next()?.parse().ok());
        Ok(Sample { cpu_percent, memory_percent, disk_percent: disk(&self.home)?, load })
    }
}

impl CpuTimes {
    fn read() -> Result<Self, SenseError> {
        Self::parse(&text(CPU)?).ok_or(SenseError::Strange(CPU))
    }

    /// Reads `cpu  user nice system idle iowait irq softirq steal …`; what guests use is in `user` already.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks = line.split_whitespace().take(8).map(|ticks| ticks.parse().ok());
        let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
        let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
        let total: u64 = ticks.iter().sum();
        Some(Self { busy: total - idle, total })
    }

    fn percent_since(self, earlier: Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy);
        percent(busy, self.total.saturating_sub(earlier.total))
    }
}

/// Memory that could not be had without swapping.
fn memory(text: &str) -> Option<f64> {
    let amount = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let (total, available) = (amount("MemTotal:")?, amount("MemAvailable:")?);
    Some(percent(total.saturating_sub(available), total))
}

/// As `df` counts: blocks that only root may take are neither used nor free.
fn disk(home: &Path) -> Result<f64, SenseError> {
    let unreadable = |error: rustix::io::Errno| SenseError::Unreadable {
        path: home.display().to_string(),
        error: error.into(),
    };
    let system = rustix::fs::statvfs(home).map_err(unreadable)?;
    let used = system.f_blocks.saturating_sub(system.f_bfree);
    Ok(percent(used, used + system.f_bavail))
}

#[allow(clippy::cast_precision_loss, reason = "a percentage needs no more than 52 bits")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 100.0 / whole as f64).min(100.0) }
}

fn text(path: &str) -> Result<String, SenseError> {
    fs::read_to_string(path).map_err(|error| SenseError::Unreadable { path: path.to_owned(), error })
}

const ROLE: &str = "chamberlain";
const BEAT: Duration = Duration::from_secs(10);
const FIRST_READING: Duration = Duration::from_millis(200);
/// The chamberlain's report.
pub(crate) const RESOURCES: &str = "state/resources.json";
const AGE_MAX: SignedDuration = SignedDuration::from_secs(120);
const CPU: &str = "/proc/stat";
const MEMORY: &str = "/proc/meminfo";
const LOAD: &str = "/proc/loadavg";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Kind, Place,
        scene::{Countdown, documents, later, now},
    };

    fn mind() -> Chamberlain {
        Chamberlain::new(config::Chamberlain::default(), "ops".to_owned())
    }

    fn sample(cpu_percent: f64) -> Sample {
        Sample { cpu_percent, memory_percent: 10.0, disk_percent: 20.0, load: Some(0.5) }
    }

    fn said(folder: &Folder) -> Vec<Document> {
        documents(folder, Place::MessagesPending)
    }

    /// C19: 60/80/90 %, by the scarcest of the three; a limit above 100 is never reached.
    #[test]
    fn colours_follow_the_scarcest() {
        let limits = config::Chamberlain::default();
        for (percent, colour) in [
            (59.9, Colour::Green),
            (60.0, Colour::Yellow),
            (80.0, Colour::Orange),
            (90.0, Colour::Red),
            (100.0, Colour::Red),
        ] {
            assert_eq!(Colour::at(percent, &limits), colour, "{percent}");
            assert_eq!(Colour::from_word(colour.as_str()), Some(colour));
        }
        assert_eq!(Sample { disk_percent: 95.0, ..sample(10.0) }.highest(), 95.0);
        assert_eq!(Sample { memory_percent: 95.0, ..sample(10.0) }.highest(), 95.0);
        let never = config::Chamberlain {
            yellow_percent: 101.0,
            orange_percent: 101.0,
            red_percent: 101.0,
            ..limits
        };
        assert_eq!(Colour::at(100.0, &never), Colour::Green);
    }

    /// C19: all on green, only high on yellow, nothing on orange and red.
    #[test]
    fn what_each_colour_accepts() {
        let all = [Priority::High, Priority::Normal, Priority::Low];
        let accepted = |colour: Colour| all.into_iter().filter(|priority| colour.accepts(*priority)).count();
        assert_eq!(accepted(Colour::Green), 3);
        assert_eq!(accepted(Colour::Yellow), 1);
        assert!(Colour::Yellow.accepts(Priority::High));
        assert_eq!(accepted(Colour::Orange) + accepted(Colour::Red), 0);
    }

    /// C19: missing, empty, unreadable, stale or of the future counts as orange, never as green.
    #[test]
    fn silence_is_not_health() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        assert_eq!(health(&folder, now()), Colour::Orange);
        for text in [
            "",
            "{}",
            "green",
            r#"{"timestamp":"2026-02-07T10:00:00Z","health":"blue"}"#,
            r#"{"health":"green"}"#,
        ] {
            fs::write(folder.path("state/resources.json"), text).unwrap();
            assert_eq!(health(&folder, now()), Colour::Orange, "{text}");
        }
        mind().look(&folder, &sample(10.0), now()).unwrap();
        assert_eq!(health(&folder, now()), Colour::Green);
        assert_eq!(health(&folder, later(120)), Colour::Green);
        assert_eq!(health(&folder, later(121)), Colour::Orange);
        assert_eq!(health(&folder, later(-121)), Colour::Orange);
        mind().look(&folder, &sample(95.0), later(300)).unwrap();
        assert_eq!(health(&folder, later(300)), Colour::Red);
    }

    /// C19: `{timestamp, health, system{…}}` with the three percentages and the roles.
    #[test]
    fn the_file_tells_all() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        folder.beat("king", now());
        mind().look(&folder, &sample(12.34), later(7)).unwrap();
        let text = fs::read(folder.path("state/resources.json")).unwrap();
        let resources = Document::parse(&text).unwrap();
        assert_eq!(resources.keys().collect::<Vec<_>>(), ["timestamp", "health", "system"]);
        let system = resources.object("system").unwrap();
        assert_eq!(system.raw("cpu_percent"), Some("12.3"));
        assert_eq!(system.raw("memory_percent"), Some("10.0"));
        assert_eq!(system.raw("disk_percent"), Some("20.0"));
        let king = system.object("roles").unwrap().object("king").unwrap();
        assert_eq!((king.number("age_s"), king.raw("alive")), (Some(7), Some("true")));
    }

    /// C19: alerts on transitions only, urgency high, naming the colour; the first green is none.
    #[test]
    fn only_changes_are_told() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let mut told = Vec::new();
        for (round, cpu) in [10.0, 20.0, 65.0, 66.0, 95.0, 94.0, 10.0, 11.0].into_iter().enumerate() {
            // Each look is another life: what was told last is in the file alone.
            mind().look(&folder, &sample(cpu), later(30 * i64::try_from(round).unwrap())).unwrap();
            told.push(said(&folder).len());
        }
        assert_eq!(told, [0, 0, 1, 1, 2, 2, 3, 3]);
        let messages = said(&folder);
        for (message, colour) in messages.iter().zip(["yellow", "red", "green"]) {
            assert_eq!(message.text("type").as_deref(), Some("report"));
            assert_eq!(message.text("urgency").as_deref(), Some("high"));
            assert_eq!(message.text("channel").as_deref(), Some("ops"));
            assert!(message.text("content").unwrap().starts_with(&format!("Host health is {colour}")));
        }
    }

    fn life(home: &Path, operations: usize, cpu: f64) -> bool {
        let folder = Folder::with_fuse(home, Countdown::of(operations));
        folder.and_then(|folder| mind().look(&folder, &sample(cpu), later(60))).is_ok()
    }

    /// C6, C19: a crash before any operation of an alert neither loses nor doubles it.
    #[test]
    fn a_crash_leaves_one_alert() {
        for operations in 0.. {
            let home = tempfile::tempdir().unwrap();
            let folder = Folder::open(home.path()).unwrap();
            mind().look(&folder, &sample(10.0), now()).unwrap();
            let survived = life(home.path(), operations, 70.0);
            mind().look(&folder, &sample(70.0), later(90)).unwrap();
            mind().look(&folder, &sample(70.0), later(120)).unwrap();
            assert_eq!(said(&folder).len(), 1, "cut before operation {operations}");
            if survived {
                assert!(operations > 10);
                break;
            }
        }
    }

    /// C19: an alert that waits is told even where the colour has gone back meanwhile.
    #[test]
    fn an_alert_that_waits_is_told_first() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        fs::write(
            folder.path("state/resources.json"),
            r#"{"timestamp":"2026-02-07T10:00:00Z","health":"red","system":{"cpu_percent":99.0},
                "alert":{"message":"msg-20260207-001","from":"green"}}"#,
        )
        .unwrap();
        mind().look(&folder, &sample(10.0), later(30)).unwrap();
        let contents: Vec<String> =
            said(&folder).iter().map(|message| message.text("content").unwrap()).collect();
        assert!(contents[0].starts_with("Host health is red (was green): CPU 99.0 %"), "{contents:?}");
        assert!(contents[1].starts_with("Host health is green (was red)"), "{contents:?}");
        assert!(folder.find(Kind::Message, &Id::parse("msg-20260207-001").unwrap()).is_some());
    }

    /// C19, C20: the first look comes at once, though the next is far away, and the role beats its heart.
    #[tokio::test]
    async fn the_first_look_comes_at_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = Arc::new(Folder::open(home.path()).unwrap());
        let settings = config::Chamberlain { every_s: 3600.0, ..config::Chamberlain::default() };
        let stop = CancellationToken::new();
        let role = tokio::spawn(run(Arc::clone(&folder), settings, "ops".to_owned(), stop.clone()));
        let wake = crate::Wake::on(&[&folder.path("state")], Duration::from_millis(50));
        while !folder.path("state/resources.json").exists() {
            wake.wait(None).await;
        }
        assert!(folder.heartbeats().contains_key("chamberlain"));
        stop.cancel();
        role.await.unwrap().unwrap();
    }

    /// C19: CPU between two readings, memory by what is available, disk of the court's file system.
    #[test]
    fn the_host_is_read_as_linux_writes_it() {
        let earlier = CpuTimes::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n").unwrap();
        let later = CpuTimes::parse("cpu  160 0 65 820 55 0 0 0 0 0\n").unwrap();
        assert_eq!(later.percent_since(earlier), 75.0);
        assert_eq!(earlier.percent_since(earlier), 0.0);
        assert_eq!(memory("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"), Some(75.0));
        assert_eq!(CpuTimes::parse("cpu  a b\n"), None);
        assert_eq!(memory("MemTotal: 1000 kB\n"), None);
        let sample = Senses::new(Path::new("/")).unwrap().sample().unwrap();
        for value in [sample.cpu_percent, sample.memory_percent, sample.disk_percent] {
            assert!((0.0..=100.0).contains(&value), "{sample:?}");
        }
    }
}
