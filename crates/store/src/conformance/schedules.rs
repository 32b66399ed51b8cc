//! What every store must do with schedules (Q17).

use super::{
    Fixture,
    desk::{Desk, EMPTY, before, entry, read_all},
    named,
    samples::{changed, job, job_id, name, payload},
};
use crate::{Batch, Cursor, Loaded};
use muster_model::{
    Change, Digest, JobPayload, JobRecord, Missed, ScheduleDraft, ScheduleId, ScheduleRecord, Scope,
    Submission, SubmissionKey, Timestamp,
};

named![
    schedules_are_read_as_written,
    schedules_are_replaced_and_deleted,
    schedules_are_loaded_last,
    schedules_come_in_pages,
    schedules_are_never_too_old,
    a_slot_and_its_job_are_kept_together,
];

fn id(number: u128) -> ScheduleId {
    ScheduleId(number << 64 | 7)
}

fn schedule(number: u128) -> ScheduleRecord {
    let run = Submission {
        key: None,
        digest: Digest(u128::MAX - 1),
        queue: name("default"),
        scope: Scope::All,
        max_attempts: None,
        payload: JobPayload { title: None, timeout: None, schedule: None, ..payload() },
    };
    ScheduleRecord {
        id: id(number),
        draft: ScheduleDraft {
            cron: "0 6 * * MON-FRI".into(),
            timezone: "Asia/Seoul".into(),
            missed: Missed::Skip,
            next_at: Some(Timestamp(60_000)),
            run,
        },
        last_slot: None,
        last_job: None,
        created_at: Timestamp(1),
    }
}

/// One with everything in it.
fn full(number: u128) -> ScheduleRecord {
    let mut full = schedule(number);
    full.draft.missed = Missed::Once;
    full.draft.next_at = None;
    full.draft.run.key = Some(SubmissionKey::new("밤 'k'").expect("a key"));
    full.draft.run.scope = Scope::Devices([name("a"), name("기기 7")].into());
    full.draft.run.max_attempts = Some(9);
    full.draft.run.payload = JobPayload { schedule: None, ..payload() };
    ScheduleRecord { last_slot: Some(Timestamp(5)), last_job: Some(job_id(3)), ..full }
}

fn listed(desk: &Desk) -> Vec<ScheduleRecord> {
    read_all(2, |page| desk.reader().schedules(page))
}

fn loaded(desk: &mut Desk) -> Vec<ScheduleRecord> {
    let schedules = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Schedule(schedule) => Some(*schedule),
        _ => None,
    });
    schedules.collect()
}

fn schedules_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let expected = [schedule(1), full(2), schedule(3)];
    desk.commit(expected.iter().rev().cloned().map(changed));
    let mut desk = desk.reopen(fixture);
    assert_eq!(listed(&desk), expected);
    assert_eq!(loaded(&mut desk), expected);
    assert_eq!(desk.reader().schedule(id(2)).expect("it is read"), Some(full(2)));
    assert_eq!(desk.reader().schedule(id(9)).expect("it is read"), None);
}

fn schedules_are_replaced_and_deleted(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let gone = |number| Change::ScheduleGone(id(number));
    desk.commit([changed(schedule(1)), changed(schedule(2)), changed(full(1)), gone(2), gone(9)]);
    desk.commit([changed(schedule(3))]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(loaded(&mut desk), [full(1), schedule(3)]);
    desk.commit([gone(3), changed(full(3)), gone(1)]);
    assert_eq!((loaded(&mut desk), listed(&desk)), (vec![full(3)], vec![full(3)]));
}

fn schedules_are_loaded_last(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(schedule(1)), changed(job(1))]);
    assert!(matches!(desk.load().last(), Some(Loaded::Schedule(last)) if **last == schedule(1)));
}

fn schedules_come_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=5).map(|number| changed(schedule(number))));
    for size in [1, 2, 5, 9] {
        let read = read_all(size, |page| desk.reader().schedules(page));
        assert_eq!(read, (1..=5).map(schedule).collect::<Vec<_>>());
    }
    for text in ["", "2", "schedules:", "schedules:2", "' OR 1=1 --", "jobs:1"] {
        let page = Cursor { after: Some(text.to_owned()), limit: 2 };
        assert_eq!(desk.reader().schedules(&page).expect("a page is read").items, [], "{text}");
    }
}

fn schedules_are_never_too_old(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(schedule(1))]);
    desk.prune(&before(1_000_000));
    assert_eq!(listed(&desk), [schedule(1)]);
}

/// Q17: a crash between the two would fire a slot twice, or lose it.
fn a_slot_and_its_job_are_kept_together(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let made = JobRecord { payload: Some(JobPayload { schedule: Some(id(1)), ..payload() }), ..job(3) };
    // A feed with a hole in it is refused.
    let changes = vec![changed(full(1)), changed(made.clone())];
    let batch = Batch { changes, feed: vec![entry(1), entry(3)], ..Batch::default() };
    assert!(desk.try_commit(&batch).is_err());
    let mut desk = desk.reopen(fixture);
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    desk.try_commit(&Batch { feed: vec![entry(1)], ..batch }).expect("the batch is kept");
    assert_eq!(desk.reader().job(made.id).expect("it is read"), Some(made));
    assert_eq!(loaded(&mut desk), [full(1)]);
}
