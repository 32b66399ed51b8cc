use crate::{Context, Engine, Restoring, kernel::script::digest};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    Cause, Change, Command, Event, Facts, JobPayload, JobReply, JobStatus, Missed, Name, Rejection, Reply,
    ScheduleCommand, ScheduleDraft, ScheduleEvent, ScheduleId, ScheduleRecord, ScheduleRejection, Scope,
    Settings, Subject, Submission, SubmissionKey, Timestamp,
};

const TAKEN: Rejection = Rejection::Schedules(ScheduleRejection::SlotTaken);
const UNKNOWN: Rejection = Rejection::Schedules(ScheduleRejection::Unknown);

/// An engine, a clock, and the rows that a store would hold.
struct World {
    engine: Engine,
    now: i64,
    rows: Vec<Change>,
    events: Vec<Event>,
    asked: u8,
}

impl World {
    fn new() -> Self {
        Self {
            engine: Engine::new(Settings::default()),
            now: 0,
            rows: Vec::new(),
            events: Vec::new(),
            asked: 0,
        }
    }

    fn ask(&mut self, command: Command) -> Result<Reply, Rejection> {
        self.asked = self.asked.wrapping_add(1);
        let seed = [self.asked; 32];
        let context = Context { now: Timestamp(self.now), seed: &seed, facts: &Facts::default() };
        let executed = self.engine.execute(command, &context);
        self.engine.check_invariants().expect("invariants hold");
        self.rows.extend(self.engine.take_changes());
        self.events = executed.events;
        executed.result
    }

    fn order(&mut self, command: ScheduleCommand) -> Result<Reply, Rejection> {
        self.ask(Command::Schedules(command))
    }

    fn create(&mut self, draft: ScheduleDraft) -> Result<ScheduleRecord, Rejection> {
        self.order(ScheduleCommand::Create(Box::new(draft))).map(|reply| match reply {
            Reply::Schedule(record) => *record,
            other => panic!("{other:?}"),
        })
    }

    fn fire(&mut self, schedule: ScheduleId, slot: i64, next: i64) -> Result<Reply, Rejection> {
        let (slot, next_at) = (Timestamp(slot), Some(Timestamp(next)));
        self.order(ScheduleCommand::Fire { schedule, slot, next_at })
    }

    fn skip(&mut self, schedule: ScheduleId, next: Option<i64>) -> Result<Reply, Rejection> {
        self.order(ScheduleCommand::Skip { schedule, next_at: next.map(Timestamp) })
    }

    /// Rebuilds memory from the rows, as after a crash or a failover.
    fn restart(&mut self) {
        let mut restored = Restoring::new(Settings::default());
        let mut schedules = alloc::collections::BTreeMap::new();
        for row in &self.rows {
            match row {
                Change::Schedule(record) => _ = schedules.insert(record.id, (**record).clone()),
                Change::ScheduleGone(id) => _ = schedules.remove(id),
                _ => {}
            }
        }
        schedules.into_values().for_each(|record| restored.schedule(record));
        self.engine = restored.finish(1, Timestamp(self.now));
    }

    fn due(&self) -> Option<i64> {
        self.engine.first_schedule().map(|(slot, _)| slot.0)
    }
}

fn draft(next_at: i64) -> ScheduleDraft {
    let payload =
        JobPayload { title: None, workflow: "w".into(), params: "{}".into(), timeout: None, schedule: None };
    ScheduleDraft {
        cron: "* * * * *".into(),
        timezone: "UTC".into(),
        missed: Missed::Skip,
        next_at: Some(Timestamp(next_at)),
        run: Submission {
            key: None,
            digest: digest("body"),
            queue: Name::new("default").expect("a name"),
            scope: Scope::All,
            max_attempts: None,
            payload,
        },
    }
}

fn keyed(key: &str, body: &str) -> ScheduleDraft {
    let mut draft = draft(60);
    draft.run.key = Some(SubmissionKey::new(key).expect("a key"));
    draft.run.digest = digest(body);
    draft
}

/// Q17: a slot makes one run, which says whose it is; the slot and the run are one decision.
#[test]
fn a_slot_submits_a_job() {
    let mut world = World::new();
    let schedule = world.create(draft(60)).expect("created").id;
    assert_eq!(world.due(), Some(60));
    world.now = 60;
    assert!(matches!(
        world.fire(schedule, 60, 120),
        Ok(Reply::Job(JobReply { status: JobStatus::Running, .. }))
    ));
    let [
        Event::Schedules(ScheduleEvent::Fired { job, .. }),
        Event::JobSubmitted { job: made, submission, .. },
        ..,
    ] = &world.events[..]
    else {
        panic!("{:?}", world.events)
    };
    assert_eq!((job, submission.payload.schedule), (made, Some(schedule)));
    assert_eq!(world.due(), Some(120));
}

/// Q17: a slot fires once, across repeats, restarts and failovers.
#[test]
fn a_slot_fires_once() {
    let mut world = World::new();
    let schedule = world.create(draft(60)).expect("created").id;
    world.now = 200;
    assert!(world.fire(schedule, 60, 120).is_ok());
    assert_eq!(world.fire(schedule, 60, 120), Err(TAKEN));
    world.restart();
    assert_eq!(world.fire(schedule, 60, 180), Err(TAKEN));
    assert_eq!(world.due(), Some(120));
    assert!(world.fire(schedule, 180, 240).is_ok(), "the latest of those missed");
    assert_eq!(world.fire(schedule, 120, 240), Err(TAKEN), "an older one comes too late");
    assert_eq!(world.fire(schedule, 240, 300), Err(TAKEN), "and one to come too early");
}

/// Q17: slots that were dropped stay dropped.
#[test]
fn what_was_skipped_is_not_fired() {
    let mut world = World::new();
    let schedule = world.create(draft(60)).expect("created").id;
    world.now = 1000;
    assert_eq!(world.skip(schedule, Some(1020)), Ok(Reply::Done));
    assert_eq!(world.skip(schedule, Some(1020)), Err(TAKEN));
    assert_eq!(world.skip(schedule, Some(60)), Err(TAKEN));
    world.restart();
    assert_eq!(world.fire(schedule, 960, 1020), Err(TAKEN));
    assert_eq!(world.skip(schedule, None), Ok(Reply::Done));
    assert_eq!((world.due(), world.fire(schedule, 1000, 1060)), (None, Err(TAKEN)), "no slot will come");
}

/// Q17: a step that leads back would fire a slot twice.
#[test]
fn the_next_slot_lies_ahead() {
    let mut world = World::new();
    let schedule = world.create(draft(60)).expect("created").id;
    world.now = 100;
    assert_eq!(world.fire(schedule, 60, 60), Err(TAKEN));
    assert_eq!(world.due(), Some(60));
}

/// Q17: what was deleted fires nothing, also not after a restart.
#[test]
fn a_deleted_schedule_is_gone() {
    let mut world = World::new();
    let schedule = world.create(draft(60)).expect("created").id;
    assert_eq!(world.order(ScheduleCommand::Delete { schedule }), Ok(Reply::Done));
    assert_eq!(world.order(ScheduleCommand::Delete { schedule }), Err(UNKNOWN));
    world.restart();
    world.now = 60;
    assert_eq!((world.due(), world.fire(schedule, 60, 120)), (None, Err(UNKNOWN)));
}

/// Q17: a repeat of the request answers with the same schedule; another body is refused; after a day or a
/// deletion the key is free.
#[test]
fn a_repeated_request_makes_one_schedule() {
    let mut world = World::new();
    let first = world.create(keyed("k", "a")).expect("created");
    assert_eq!(world.create(keyed("k", "a")), Ok(first.clone()));
    assert_eq!(world.create(keyed("k", "b")), Err(Rejection::KeyConflict));
    world.restart();
    assert_eq!(world.create(keyed("k", "a")), Ok(first.clone()));
    world.now = 86_400_000;
    let second = world.create(keyed("k", "b")).expect("created");
    assert_ne!(second.id, first.id);
    assert!(world.order(ScheduleCommand::Delete { schedule: first.id }).is_ok());
    assert_eq!(
        world.create(keyed("k", "b")).map(|record| record.id),
        Ok(second.id),
        "not the older one's key"
    );
    assert!(world.order(ScheduleCommand::Delete { schedule: second.id }).is_ok());
    assert_ne!(world.create(keyed("k", "b")).map(|record| record.id), Ok(second.id));
}

/// Q17: there are never too many.
#[test]
fn the_number_of_schedules_is_bounded() {
    let mut world = World::new();
    for n in 0..1000 {
        world.now = n;
        world.create(draft(5000)).expect("created");
    }
    let many = Rejection::Schedules(ScheduleRejection::TooMany { max: 1000 });
    assert_eq!(world.create(draft(5000)), Err(many));
}

/// Q16, Q17: a schedule says what it waits for, that it is due, or that it never will be.
#[test]
fn a_schedule_is_explained() {
    let mut world = World::new();
    let id = world.create(draft(1000)).unwrap().id;
    let why = |world: &World, id| {
        let told = world.engine.explain(Subject::Schedule(id), Timestamp(world.now))?;
        Some(told.cause)
    };
    let code = |world: &World, id| why(world, id).map(|cause| cause.rule_and_code().1);
    assert_eq!(code(&world, id), Some("schedule_waiting"));
    world.now = 1000;
    assert_eq!(code(&world, id), Some("schedule_due"));
    world.fire(id, 1000, 2000).unwrap();
    let Some(Cause::ScheduleWaiting { next_at, last_job, .. }) = why(&world, id) else { panic!("it waits") };
    assert_eq!((next_at, last_job.is_some()), (Timestamp(2000), true));
    world.skip(id, None).unwrap();
    assert_eq!(code(&world, id), Some("schedule_over"));
    assert_eq!(code(&world, ScheduleId(7)), None);
}
