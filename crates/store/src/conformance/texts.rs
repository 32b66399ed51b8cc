//! Texts come back as they came, whatever they hold: JSON can say NUL, and nothing forbids a character of private use.

use super::{
    Fixture,
    desk::{Desk, entry},
    named,
    samples::*,
};
use crate::{Batch, Cursor, FeedEntry, LaneFilter, Loaded};
use muster_model::{
    AlertRecord, Fact, JobPayload, JobRecord, Key, LaneRecord, LogKind, LogRecord, ReportRecord, TaskRecord,
};

named![free_texts_may_hold_anything, names_and_keys_may_hold_what_is_no_control, the_feed_may_hold_anything];

/// What a store could stumble over: NUL, what may stand in its place, and what that may be escaped by.
const ODD: [&str; 6] =
    ["\0", "\u{F8FF}", "a\0\u{F8FF}0\u{F8FF}1\0z", "\u{F8FF}\0", "\u{10FFFF}\u{FFFF}", "\\0\\u0000%00"];

fn free_texts_may_hold_anything(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for (number, odd) in (1..).zip(ODD) {
        let text = Some(Box::<str>::from(odd));
        let payload = JobPayload { title: text.clone(), params: odd.into(), ..payload() };
        let job = JobRecord { error: text.clone(), payload: Some(payload), ..job(number) };
        let task = TaskRecord { error: text.clone(), result: text.clone(), ..ended_task(number, 1, 5) };
        let lane = LaneRecord { note: text.clone(), ..lane(&format!("device-{number}"), "PC-01") };
        let log = LogRecord { message: text, ..log(task.id, 1, LogKind::Failed) };
        let alert = AlertRecord { message: odd.into(), ..alert(number.into(), 1) };
        let report = ReportRecord { body: odd.into(), ..report(&format!("report-{number}"), 1) };
        let changes =
            [changed(job.clone()), changed(task.clone()), changed(lane.clone()), changed(log.clone())];
        desk.commit(changes.into_iter().chain([changed(alert.clone()), changed(report)]));
        let reader = desk.reader();
        assert_eq!(reader.job(job.id).expect("it is read"), Some(job));
        assert_eq!(reader.task(task.id).expect("it is read").as_ref(), Some(&task));
        assert_eq!(reader.lane(&lane.id).expect("it is read"), Some(lane));
        assert_eq!(reader.task_log(task.id).expect("it is read"), [log]);
        let newest = reader.alerts(&Cursor { after: None, limit: 1 }).expect("they are read");
        assert_eq!(newest.items, [alert]);
        assert_eq!(desk.fact(Key::Task(task.id)), Some(Fact::Task(Box::new(task))));
    }
}

fn names_and_keys_may_hold_what_is_no_control(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let names = ["PC\u{F8FF}", "PC\u{F8FF}0", "PC\u{F8FF}1", "PC\u{F8FF}\u{F8FF}", "PC\u{F900}"];
    for odd in names {
        desk.commit([changed(worker(odd)), changed(lane(odd, odd)), changed(key(odd, 1))]);
        assert_eq!(desk.fact(Key::Submission(submission_key(odd))), Some(Fact::Submission(key(odd, 1))));
        let of_worker = LaneFilter { worker: Some(name(odd)), ..LaneFilter::default() };
        let page = desk.reader().lanes(&of_worker, &Cursor { after: None, limit: 9 }).expect("they are read");
        assert_eq!(page.items, [lane(odd, odd)]);
    }
    let loaded = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Worker(worker) => Some(worker),
        _ => None,
    });
    assert_eq!(loaded.collect::<Vec<_>>(), names.map(worker), "they come in their order");
}

fn the_feed_may_hold_anything(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let feed: Vec<FeedEntry> =
        (1..).zip(ODD).map(|(seq, odd)| FeedEntry { body: odd.into(), ..entry(seq) }).collect();
    desk.try_commit(&Batch { feed: feed.clone(), ..Batch::default() }).expect("it is kept");
    assert_eq!(desk.reader().feed(0, 100).expect("it is read").entries, feed);
}
