use super::*;
use crate::{Document, Fuse, Id, Kind, Operation, Place, file::Priority};
use jiff::{SignedDuration, Timestamp};
use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

fn now() -> Timestamp {
    "2026-02-07T10:00:00Z".parse().unwrap()
}

fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn mind() -> Chamberlain {
    Chamberlain::new(config::Chamberlain::default(), "ops".to_owned())
}

fn sample(cpu_percent: f64) -> Sample {
    Sample { cpu_percent, memory_percent: 10.0, disk_percent: 20.0, load: Some(0.5) }
}

/// The contents of all messages, in order.
fn said(folder: &Folder) -> Vec<Document> {
    let mut ids: Vec<Id> = folder.ids(Place::MessagesPending).unwrap();
    ids.sort();
    ids.iter().map(|id| folder.read(Place::MessagesPending, id).unwrap()).collect()
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
        assert_eq!(Colour::from_word(colour.word()), Some(colour));
    }
    assert_eq!(Sample { disk_percent: 95.0, ..sample(10.0) }.highest(), 95.0);
    assert_eq!(Sample { memory_percent: 95.0, ..sample(10.0) }.highest(), 95.0);
    let never =
        config::Chamberlain { yellow_percent: 101.0, orange_percent: 101.0, red_percent: 101.0, ..limits };
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

/// Ends the world before one operation, and everything after it.
struct At(AtomicUsize);

impl Fuse for At {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| io::Error::other("the world has ended"))
    }
}

fn life(home: &Path, operations: usize, cpu: f64) -> bool {
    let fuse = Arc::new(At(AtomicUsize::new(operations)));
    let folder = Folder::with_fuse(home, fuse);
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
