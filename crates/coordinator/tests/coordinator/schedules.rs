//! Schedules over a clock that is moved by hand, a store that fails, and coordinators that come and go (Q17).

use muster_coordinator::{Coordinator, ManualClock, Options, Refusal};
use muster_cron::Cron;
use muster_model::{
    Digest, JobPayload, JobRecord, Missed, Name, ScheduleDraft, ScheduleId, ScheduleRecord, Scope,
    Submission, Timestamp,
    ask::{
        devices::Sweep,
        schedules::{Delete, Fire},
    },
};
use muster_store::{Cursor, Failure, MemoryStore, Store};
use std::{sync::Arc, time::Duration};

/// A store, a clock, and the coordinator that is in office.
struct Stage {
    store: MemoryStore,
    clock: Arc<ManualClock>,
    coordinator: Coordinator,
}

impl Stage {
    fn open(now: &str) -> Self {
        let (store, clock) = (MemoryStore::new(), Arc::new(ManualClock::at(instant(now))));
        let coordinator = start(&store, &clock);
        Self { store, clock, coordinator }
    }

    async fn create(&self, cron: &str, timezone: &str, missed: Missed) -> ScheduleRecord {
        let next = Cron::parse(cron, timezone).unwrap().next_after(self.coordinator.now());
        let payload = JobPayload {
            title: None,
            workflow: "w".into(),
            params: "{}".into(),
            timeout: None,
            schedule: None,
        };
        let run = Submission {
            key: None,
            digest: Digest(0),
            queue: Name::new("default").unwrap(),
            scope: Scope::All,
            max_attempts: None,
            payload,
        };
        let (cron, timezone) = (cron.into(), timezone.into());
        let draft = ScheduleDraft { cron, timezone, missed, next_at: next, run };
        *self.coordinator.ask(draft).await.unwrap()
    }

    /// Moves the clock to a moment and has the driver look at it; what it does is durable before it answers.
    async fn at(&self, moment: &str) {
        self.clock.advance(instant(moment) - self.coordinator.now());
        while let Err(refusal) = self.coordinator.ask(Sweep {}).await {
            // A term that ended is followed by another.
            assert!(matches!(refusal, Refusal::Unavailable), "{refusal:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Another coordinator on the same data, at a moment.
    async fn restart(&mut self, moment: &str) {
        self.coordinator.stop().await;
        self.clock.advance(instant(moment) - self.coordinator.now());
        self.coordinator = start(&self.store, &self.clock);
        self.at(moment).await;
    }

    /// Number of runs that a schedule made.
    fn runs(&self, schedule: ScheduleId) -> usize {
        let page = Cursor { after: None, limit: 1000 };
        let jobs = self.store.reader().jobs(&muster_store::JobFilter::default(), &page).unwrap();
        jobs.items.iter().filter(|job| made_by(job) == Some(schedule)).count()
    }

    fn record(&self, schedule: ScheduleId) -> ScheduleRecord {
        self.store.reader().schedule(schedule).unwrap().expect("it stands")
    }
}

fn made_by(job: &JobRecord) -> Option<ScheduleId> {
    job.payload.as_ref().and_then(|payload| payload.schedule)
}

fn start(store: &MemoryStore, clock: &Arc<ManualClock>) -> Coordinator {
    let clock = Arc::clone(clock);
    Coordinator::start_with_clock(Arc::new(store.clone()), Options::default(), clock).unwrap()
}

fn instant(text: &str) -> Timestamp {
    let (date, time) = text.split_once(' ').unwrap();
    let number = |text: &str| text.parse::<i64>().unwrap();
    let date: Vec<i64> = date.split('-').map(number).collect();
    let time: Vec<i64> = time.split(':').map(number).collect();
    let months = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    // 2026 is no leap year, and begins so many days after 1970.
    assert_eq!(date[0], 2026);
    let days = 20_454 + months[usize::try_from(date[1] - 1).unwrap()] + date[2] - 1;
    Timestamp((((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2]) * 1000)
}

const HOURLY: &str = "0 * * * *";

/// Q17: each slot makes one run, when its time has come, and once however often it is looked at.
#[tokio::test]
async fn a_slot_makes_one_run() {
    let mut stage = Stage::open("2026-05-01 00:00:00");
    let schedule = stage.create(HOURLY, "UTC", Missed::Skip).await;
    assert_eq!(schedule.draft.next_at, Some(instant("2026-05-01 01:00:00")));
    stage.at("2026-05-01 00:59:59").await;
    assert_eq!(stage.runs(schedule.id), 0);
    stage.at("2026-05-01 01:00:00").await;
    stage.at("2026-05-01 01:00:03").await;
    assert_eq!(stage.runs(schedule.id), 1);
    let record = stage.record(schedule.id);
    assert_eq!(
        (record.last_slot, record.draft.next_at),
        (Some(instant("2026-05-01 01:00:00")), Some(instant("2026-05-01 02:00:00")),)
    );
    let made = stage.store.reader().job(record.last_job.unwrap()).unwrap().unwrap();
    assert_eq!(made_by(&made), Some(schedule.id));
    stage.restart("2026-05-01 01:00:05").await;
    assert_eq!(stage.runs(schedule.id), 1, "not again after a restart");
    stage.at("2026-05-01 02:00:00").await;
    assert_eq!(stage.runs(schedule.id), 2);
}

/// Q17: a slot fires once across failovers: a commit that was not kept is made up for, one that was is not repeated.
#[tokio::test]
async fn a_slot_fires_once_whatever_becomes_of_the_commit() {
    for failure in [Failure::Before, Failure::After] {
        let stage = Stage::open("2026-05-01 00:00:00");
        let schedule = stage.create(HOURLY, "UTC", Missed::Skip).await;
        stage.store.fail_next(failure);
        stage.at("2026-05-01 01:00:00").await;
        assert_eq!(stage.coordinator.epoch(), 2, "the term ended");
        assert_eq!(stage.runs(schedule.id), 1, "{failure:?}");
    }
}

/// Q17: an older coordinator that still believes in its slot makes no second run.
#[tokio::test]
async fn a_slot_that_was_fired_is_refused() {
    let stage = Stage::open("2026-05-01 00:00:00");
    let schedule = stage.create(HOURLY, "UTC", Missed::Skip).await.id;
    stage.at("2026-05-01 01:00:00").await;
    let (slot, next_at) = (instant("2026-05-01 01:00:00"), Some(instant("2026-05-01 02:00:00")));
    let again = Fire { schedule, slot, next_at };
    assert!(matches!(stage.coordinator.ask(again).await, Err(Refusal::Rejected(_))));
    assert_eq!(stage.runs(schedule), 1);
}

/// Q17: missed slots are dropped, or one run stands for all of them: the latest.
#[tokio::test]
async fn missed_slots_follow_their_policy() {
    let mut stage = Stage::open("2026-05-01 00:00:00");
    let skip = stage.create(HOURLY, "UTC", Missed::Skip).await.id;
    let once = stage.create(HOURLY, "UTC", Missed::Once).await.id;
    stage.restart("2026-05-03 12:30:00").await;
    assert_eq!((stage.runs(skip), stage.runs(once)), (0, 1));
    assert_eq!(stage.record(once).last_slot, Some(instant("2026-05-03 12:00:00")));
    for schedule in [skip, once] {
        assert_eq!(stage.record(schedule).draft.next_at, Some(instant("2026-05-03 13:00:00")));
    }
    stage.restart("2026-05-03 12:40:00").await;
    assert_eq!((stage.runs(skip), stage.runs(once)), (0, 1), "what was missed is over");
    stage.at("2026-05-03 13:00:00").await;
    assert_eq!((stage.runs(skip), stage.runs(once)), (1, 2));
}

/// Q17: a slot is missed when it is more than a minute late.
#[tokio::test]
async fn a_little_late_is_not_missed() {
    let mut stage = Stage::open("2026-05-01 00:00:00");
    let schedule = stage.create(HOURLY, "UTC", Missed::Skip).await.id;
    stage.restart("2026-05-01 01:01:00").await;
    assert_eq!(stage.runs(schedule), 1);
    stage.restart("2026-05-01 02:01:01").await;
    assert_eq!(stage.runs(schedule), 1);
    assert_eq!(stage.record(schedule).draft.next_at, Some(instant("2026-05-01 03:00:00")));
}

/// Q17: a skipped hour and a repeated one make one run each.
#[tokio::test]
async fn changed_clocks_make_one_run() {
    let days = [("2026-03-28", "2026-03-29", "01:00:00"), ("2026-10-24", "2026-10-25", "00:30:00")];
    for (before, day, expected) in days {
        let stage = Stage::open(&format!("{before} 12:00:00"));
        let schedule = stage.create("30 2 * * *", "Europe/Vienna", Missed::Skip).await.id;
        for time in ["00:30:00", "01:00:00", "01:30:00", "02:30:00"] {
            stage.at(&format!("{day} {time}")).await;
        }
        let slot = instant(&format!("{day} {expected}"));
        assert_eq!((stage.runs(schedule), stage.record(schedule).last_slot), (1, Some(slot)));
    }
}

/// Q17: what is deleted makes no more runs; those it made stay.
#[tokio::test]
async fn a_deleted_schedule_makes_no_more_runs() {
    let mut stage = Stage::open("2026-05-01 00:00:00");
    let schedule = stage.create(HOURLY, "UTC", Missed::Once).await.id;
    stage.at("2026-05-01 01:00:00").await;
    stage.coordinator.ask(Delete { schedule }).await.unwrap();
    stage.at("2026-05-01 02:00:00").await;
    stage.restart("2026-05-02 00:00:00").await;
    assert_eq!(stage.runs(schedule), 1);
    assert_eq!(stage.store.reader().schedule(schedule).unwrap(), None);
}

/// Q17: many schedules of one moment are all served.
#[tokio::test]
async fn many_slots_of_one_moment_are_all_fired() {
    let stage = Stage::open("2026-05-01 00:00:00");
    let mut schedules = Vec::new();
    for _ in 0..250 {
        schedules.push(stage.create(HOURLY, "UTC", Missed::Skip).await.id);
    }
    for _ in 0..3 {
        stage.at("2026-05-01 01:00:00").await;
    }
    assert!(schedules.iter().all(|schedule| stage.runs(*schedule) == 1));
}

/// Q17: a schedule that cannot be read any more rests and harms nobody.
#[tokio::test]
async fn what_cannot_be_read_rests() {
    let stage = Stage::open("2026-05-01 00:00:00");
    let well = stage.create(HOURLY, "UTC", Missed::Skip).await;
    let mut draft = well.draft.clone();
    draft.timezone = "Mars/Olympus".into();
    let ill = stage.coordinator.ask(draft).await.unwrap();
    stage.at("2026-05-01 01:00:00").await;
    assert_eq!((stage.runs(well.id), stage.runs(ill.id)), (1, 0));
    assert_eq!(stage.record(ill.id).draft.next_at, None);
}

/// Q17: what schedules do stands in the feed, as JSON.
#[tokio::test]
async fn subscribers_hear_of_it() {
    let mut stage = Stage::open("2026-05-01 00:00:00");
    let schedule = stage.create(HOURLY, "UTC", Missed::Skip).await.id;
    stage.at("2026-05-01 01:00:00").await;
    stage.restart("2026-05-01 02:30:00").await;
    stage.coordinator.ask(Delete { schedule }).await.unwrap();
    let feed = stage.store.reader().feed(0, 100).unwrap().entries;
    let told = feed.iter().filter(|entry| entry.kind.starts_with("schedule_"));
    let kinds: Vec<&str> = told.clone().map(|entry| &*entry.kind).collect();
    assert_eq!(kinds, ["schedule_created", "schedule_fired", "schedule_skipped", "schedule_deleted"]);
    for entry in told {
        let body: serde_json::Value = serde_json::from_str(&entry.body).unwrap();
        assert_eq!(body["schedule"], schedule.to_string());
        assert!(body["at"].is_i64());
    }
}
