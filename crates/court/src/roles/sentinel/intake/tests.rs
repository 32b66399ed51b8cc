//! What a reading leaves behind, also when it is cut short.

use super::*;
use crate::{Fuse, Operation, roles::sentinel::tests::Scene};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Lets some operations pass, and then none.
#[derive(Default)]
struct Countdown {
    left: AtomicUsize,
    done: AtomicUsize,
}

impl Fuse for Countdown {
    fn before(&self, _: &Operation) -> io::Result<()> {
        let passes = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        passes.map_err(|_| io::Error::other("the end of the world"))?;
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn event(id: &str) -> Notice {
    let mut event = Document::new();
    event.set_text("id", id).set_text("type", "t").set_text("source", "s").set_raw("payload", "{}");
    Ok(event)
}

fn page() -> Vec<Notice> {
    vec![event("evt-a-1"), Err("strange".to_owned()), event("../x"), event("evt-a-2"), event("evt-a-1")]
}

fn read(folder: &Folder) -> Result<Tally, Fault> {
    let source = Id::parse("a").unwrap();
    let mut reading = Reading::begin(folder, &source)?;
    reading.take(folder, page(), Timestamp::UNIX_EPOCH)?;
    let mut marks = Document::new();
    marks.set_text("etag", "v1");
    reading.end(folder, marks)
}

/// C6, C8: wherever a reading is cut short, the next one completes it: no event is lost or doubled, and the record never
/// runs ahead of the events.
#[test]
fn a_reading_that_was_cut_short_is_completed() {
    let scene = Scene::new();
    let fuse = Arc::new(Countdown { left: AtomicUsize::new(usize::MAX), ..Countdown::default() });
    let folder = Folder::with_fuse(scene.path(), fuse.clone()).unwrap();
    let before = fuse.done.load(Ordering::SeqCst);
    assert_eq!(read(&folder).unwrap(), Tally { new: 2, repeated: 1, refused: 2 });
    let operations = fuse.done.load(Ordering::SeqCst) - before;
    assert!(operations > 10, "{operations}");
    for cut in 0..operations {
        let scene = Scene::new();
        let fuse = Arc::new(Countdown { left: AtomicUsize::new(usize::MAX), ..Countdown::default() });
        let folder = Folder::with_fuse(scene.path(), fuse.clone()).unwrap();
        fuse.left.store(cut, Ordering::SeqCst);
        assert!(read(&folder).is_err(), "{cut}");
        assert!(scene.record("a").is_none() || scene.pending().len() == 2, "{cut}: the record runs ahead");
        let again = read(&scene.folder).unwrap();
        assert_eq!(again.new + again.repeated, 3, "{cut}");
        assert_eq!(scene.pending(), ["evt-a-1", "evt-a-2"], "{cut}");
        assert_eq!(scene.record("a").unwrap().text("etag").as_deref(), Some("v1"), "{cut}");
    }
}

/// C8: an event that is further on is not brought back to the beginning.
#[test]
fn an_event_that_is_further_on_stays_there() {
    let scene = Scene::new();
    read(&scene.folder).unwrap();
    let id = Id::parse("evt-a-1").unwrap();
    scene.folder.advance(&id, Place::EventsPending, Place::EventsDispatched).unwrap();
    scene.folder.remove(Place::Sources, &Id::parse("a").unwrap()).unwrap();
    assert_eq!(read(&scene.folder).unwrap(), Tally { new: 0, repeated: 3, refused: 2 });
    assert_eq!(scene.pending(), ["evt-a-2"]);
}

/// C12: a record that is no record is set apart, and all is read anew.
#[test]
fn a_broken_record_is_set_apart() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("state/sources/a.json"), "{\"seen\": ").unwrap();
    assert_eq!(read(&scene.folder).unwrap().new, 2);
    assert_eq!(scene.rejected(), ["a.json", "a.json.reason"]);
    std::fs::write(scene.path().join("state/sources/a.json"), "{\"seen\": 5, \"etag\": []}").unwrap();
    assert_eq!(read(&scene.folder).unwrap().repeated, 3);
}

/// C23: however much a source shows, its record stays a file that can be read.
#[test]
fn a_record_stays_small() {
    let scene = Scene::new();
    let source = Id::parse("a").unwrap();
    let mut reading = Reading::begin(&scene.folder, &source).unwrap();
    reading.seen = (0..10_000).map(|number| format!("evt-{number:0>190}")).collect();
    reading.end(&scene.folder, Document::new()).unwrap();
    assert!(scene.record("a").is_some());
    assert!(Reading::begin(&scene.folder, &source).unwrap().known.len() > 1000);
}
