//! Takes in what a source shows, so that no crash loses or doubles any of it (C6, C8), and decides when to look again.

use crate::{
    Document, Fault, Folder, Id, Place,
    emit::{Emitted, emit},
    folder::sentence,
};
use jiff::Timestamp;
use std::{collections::BTreeSet, time::Duration};

/// One thing a source shows: an event, or why it is none.
pub type Notice = Result<Document, String>;

/// Counts of one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events that nobody had seen.
    pub new: u64,
    /// Events that had been there.
    pub repeated: u64,
    /// Notices that are not events.
    pub refused: u64,
}

/// One reading of a source, from its first page to its last.
///
/// The events come first and the record of the source last: whatever a crash leaves out is read again, and what it
/// repeats has the id of an event that is there. The record also holds the ids of all that the source showed, so that
/// what it still shows when the files of a court are pruned does not become an event once more.
#[derive(Debug)]
pub struct Reading {
    source: Id,
    kept: Option<Document>,
    known: BTreeSet<String>,
    seen: Vec<String>,
    tally: Tally,
}

impl Reading {
    /// Begins with what is kept of the source; a record that is not valid is set apart, and all is read anew.
    pub fn begin(folder: &Folder, source: &Id) -> Result<Self, Fault> {
        let kept = folder.read_or_reject(Place::Sources, source)?;
        let known = kept.as_ref().and_then(|kept| serde_json::from_str(kept.raw("seen")?).ok());
        let (known, seen, tally) = (known.unwrap_or_default(), Vec::new(), Tally::default());
        Ok(Self { source: source.clone(), kept, known, seen, tally })
    }

    /// The counts so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// The record of the last complete reading.
    #[must_use]
    pub const fn kept(&self) -> Option<&Document> {
        self.kept.as_ref()
    }

    /// Takes one page in. What is no event is left out and counted; only the disk can stop this.
    pub fn take(&mut self, folder: &Folder, notices: Vec<Notice>, now: Timestamp) -> Result<(), Fault> {
        for notice in notices {
            match self.take_one(folder, notice, now) {
                Err(Fault::Invalid(reason)) => {
                    let source = self.source.as_str();
                    tracing::warn!(source, reason = sentence(&reason), "what a source showed was refused");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Ends the reading: from now on it is known how far the source was read.
    pub fn end(self, folder: &Folder, mut marks: Document) -> Result<Tally, Fault> {
        let mut bytes_left = SEEN_BYTES_MAX;
        let fits = |id: &&String| {
            bytes_left = bytes_left.saturating_sub(id.len() + 3);
            bytes_left > 0
        };
        let seen: Vec<&String> = self.seen.iter().take_while(fits).collect();
        marks.set("seen", &seen);
        marks.set("refused", &self.tally.refused);
        if self.kept.as_ref() != Some(&marks) {
            folder.write(Place::Sources, &self.source, &marks)?;
        }
        let Tally { new, repeated, refused } = self.tally;
        tracing::debug!(source = self.source.as_str(), new, repeated, refused, "a source was read");
        Ok(self.tally)
    }

    /// Takes one thing in; says why where it is no event.
    pub fn take_one(&mut self, folder: &Folder, notice: Notice, now: Timestamp) -> Result<(), Fault> {
        let taken = notice.map_err(Fault::Invalid).and_then(|event| self.count(folder, event, now));
        self.tally.refused += u64::from(matches!(taken, Err(Fault::Invalid(_))));
        taken
    }

    /// One without an id of its own cannot be told from another and is always new.
    fn count(&mut self, folder: &Folder, event: Document, now: Timestamp) -> Result<(), Fault> {
        let id = event.text("id");
        let is_known = id.as_ref().is_some_and(|id| self.known.contains(id));
        if !is_known && matches!(emit(folder, event, now)?, Emitted::New(_)) {
            self.tally.new += 1;
        } else {
            self.tally.repeated += 1;
        }
        self.seen.extend(id);
        Ok(())
    }

    /// Keeps in mind what earlier readings showed, where this one may not have come to its end.
    pub fn keep_known(&mut self) {
        let seen: BTreeSet<&String> = self.seen.iter().collect();
        let more: Vec<String> = self.known.iter().filter(|id| !seen.contains(id)).cloned().collect();
        self.seen.extend(more);
    }
}

/// The reason why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// The source says when to come again.
    #[error("it asks for patience ({why})")]
    Busy {
        /// The requested pause.
        told: Duration,
        /// The wording of the request.
        why: String,
    },
    /// The source will not change its mind by itself.
    #[error("{0}")]
    Refused(String),
    /// It may work the next time.
    #[error("{0}")]
    Failed(String),
    /// The events cannot be written.
    #[error("{0}")]
    Disk(#[from] Fault),
}

/// The polling interval of a source, with backoff.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    poll: Duration,
    failures: u32,
}

impl Pace {
    pub(super) const fn new(poll: Duration) -> Self {
        Self { poll, failures: 0 }
    }

    /// The pause after a look.
    pub(super) fn after(&mut self, look: &Result<Option<Duration>, SourceError>) -> Duration {
        self.failures = match look {
            Err(SourceError::Failed(_) | SourceError::Disk(_)) => self.failures.saturating_add(1),
            _ => 0,
        };
        match look {
            // It may raise the interval, not lower it.
            Ok(asked) => asked.unwrap_or_default().min(TOLD_MAX).max(self.poll),
            Err(SourceError::Busy { told, .. }) => (*told).clamp(TOLD_MIN, TOLD_MAX),
            Err(SourceError::Refused(_)) => {
                self.poll.saturating_mul(REFUSED_TIMES).clamp(REFUSED_MIN, TOLD_MAX).max(self.poll)
            }
            Err(SourceError::Failed(_) | SourceError::Disk(_)) => self.backed_off(),
        }
    }

    /// Twice as long each time, within reason.
    fn backed_off(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(DOUBLINGS_MAX);
        self.poll.saturating_mul(1 << doublings).min(FAILED_MAX).max(self.poll)
    }
}

/// Half of what a file may hold; sources show the newest first.
const SEEN_BYTES_MAX: usize = crate::FILE_BYTES_MAX / 2;
/// A source that says "at once" while it refuses would be asked without end.
const TOLD_MIN: Duration = Duration::from_secs(1);
/// A header must not silence a source for good.
const TOLD_MAX: Duration = Duration::from_secs(24 * 3600);
const REFUSED_TIMES: u32 = 10;
const REFUSED_MIN: Duration = Duration::from_secs(300);
const FAILED_MAX: Duration = Duration::from_secs(900);
const DOUBLINGS_MAX: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        document::document,
        roles::sentinel::tests::Scene,
        scene::{Countdown, id},
    };

    fn event(name: &str) -> Notice {
        Ok(document! {"id": name, "type": "t", "source": "s", "payload": Document::new()})
    }

    fn page() -> Vec<Notice> {
        vec![event("evt-a-1"), Err("strange".to_owned()), event("../x"), event("evt-a-2"), event("evt-a-1")]
    }

    fn read(folder: &Folder) -> Result<Tally, Fault> {
        let source = id("a");
        let mut reading = Reading::begin(folder, &source)?;
        reading.take(folder, page(), Timestamp::UNIX_EPOCH)?;
        reading.end(folder, document! {"etag": "v1"})
    }

    /// C6, C8: wherever a reading is cut short, the next one completes it: no event is lost or doubled, and the record never
    /// runs ahead of the events.
    #[test]
    fn a_reading_that_was_cut_short_is_completed() {
        let scene = Scene::new();
        let fuse = Countdown::of(usize::MAX);
        let folder = Folder::with_fuse(scene.path(), fuse.clone()).unwrap();
        let before = fuse.done();
        assert_eq!(read(&folder).unwrap(), Tally { new: 2, repeated: 1, refused: 2 });
        let operations = fuse.done() - before;
        assert!(operations > 10, "{operations}");
        for cut in 0..operations {
            let scene = Scene::new();
            let fuse = Countdown::of(usize::MAX);
            let folder = Folder::with_fuse(scene.path(), fuse.clone()).unwrap();
            fuse.allow(cut);
            assert!(read(&folder).is_err(), "{cut}");
            assert!(
                scene.record("a").is_none() || scene.pending().len() == 2,
                "{cut}: the record runs ahead"
            );
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
        scene.folder.advance(&id("evt-a-1"), Place::EventsPending, Place::EventsDispatched).unwrap();
        scene.folder.remove(Place::Sources, &id("a")).unwrap();
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
        let source = id("a");
        let mut reading = Reading::begin(&scene.folder, &source).unwrap();
        reading.seen = (0..10_000).map(|number| format!("evt-{number:0>190}")).collect();
        reading.end(&scene.folder, Document::new()).unwrap();
        assert!(scene.record("a").is_some());
        assert!(Reading::begin(&scene.folder, &source).unwrap().known.len() > 1000);
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// C18: the poll interval header raises the interval and never lowers it; patience is had as told, within a day.
    #[test]
    fn a_source_is_waited_for_as_it_asks() {
        let mut pace = Pace::new(s(60));
        assert_eq!(pace.after(&Ok(None)), s(60));
        assert_eq!(pace.after(&Ok(Some(s(300)))), s(300));
        assert_eq!(pace.after(&Ok(Some(s(1)))), s(60));
        assert_eq!(pace.after(&Ok(Some(Duration::MAX))), s(86_400));
        let busy = |told| Err(SourceError::Busy { told, why: String::new() });
        assert_eq!(pace.after(&busy(s(7))), s(7));
        assert_eq!(pace.after(&busy(s(0))), s(1));
        assert_eq!(pace.after(&busy(Duration::MAX)), s(86_400));
    }

    /// C18: failures are tried again ever later, refusals much later, and one good look makes up for all of them.
    #[test]
    fn trouble_slows_a_source_down() {
        let mut pace = Pace::new(s(60));
        let failed = || Err(SourceError::Failed("down".to_owned()));
        let pauses: Vec<Duration> = (0..6).map(|_| pace.after(&failed())).collect();
        assert_eq!(pauses, [s(60), s(120), s(240), s(480), s(900), s(900)]);
        assert_eq!(pace.after(&Ok(None)), s(60));
        assert_eq!(pace.after(&failed()), s(60));
        assert_eq!(pace.after(&Err(SourceError::Refused("no".to_owned()))), s(600));
        assert_eq!(Pace::new(s(1)).after(&Err(SourceError::Refused("no".to_owned()))), s(300));
        let mut slow = Pace::new(s(200_000));
        assert_eq!(slow.after(&Err(SourceError::Refused("no".to_owned()))), s(200_000));
        assert_eq!((0..100).map(|_| slow.after(&failed())).max(), Some(s(200_000)));
    }
}
