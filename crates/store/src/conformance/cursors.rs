//! Cursors: each list knows its own, and every other text is an empty page.

use super::{
    desk::Desk,
    frames::samples as frames,
    named, pool,
    samples::{alert, changed, job, job_id, lane, task, worker},
};
use crate::{
    ChunkFilter, Cursor, DiagnosticFilter, JobFilter, LaneFilter, Page, PoolJobFilter, Reader, StoreError,
    TaskFilter,
};
use muster_model::EntryId;

named![
    a_cursor_nobody_gave_is_an_empty_page,
    a_cursor_of_another_list_is_an_empty_page,
    a_page_holds_at_least_one_item,
];

/// Number of items of a page, and where the next begins.
type Part = (usize, Option<String>);

fn part<T>(page: Result<Page<T>, StoreError>) -> Part {
    let page = page.expect("a page is read");
    (page.items.len(), page.next)
}

/// A page of each list.
fn parts(reader: &dyn Reader, after: Option<&str>, limit: u32) -> [Part; 18] {
    let page = &Cursor { after: after.map(str::to_owned), limit };
    let session = frames::session_id(1);
    [
        part(reader.jobs(&JobFilter::default(), page)),
        part(reader.tasks(job_id(1), &TaskFilter::default(), page)),
        part(reader.lanes(&LaneFilter::default(), page)),
        part(reader.workers(page)),
        part(reader.alerts(page)),
        part(reader.sessions(None, page)),
        part(reader.frame_tasks(&session, page)),
        part(reader.replays(&session, page)),
        part(reader.chunks(&ChunkFilter::default(), page)),
        part(reader.renderers(page)),
        part(reader.quarantine(page)),
        part(reader.diagnostics(&DiagnosticFilter::default(), page)),
        part(reader.pool_jobs(&PoolJobFilter::default(), page)),
        part(reader.pool_workers(None, page)),
        part(reader.users(page)),
        part(reader.api_keys(None, page)),
        part(reader.audit(page)),
        part(reader.schedules(page)),
    ]
}

/// Puts three items into each list.
fn fill(desk: &mut Desk) {
    for (n, name) in (1u32..).zip(["a", "b", "c"]) {
        let (number, at) = (u64::from(n), i64::from(n));
        desk.commit([
            changed(job(number)),
            changed(task(1, n)),
            changed(lane(name, "a")),
            changed(worker(name)),
            changed(alert(n.into(), at)),
            changed(frames::session(number)),
            changed(frames::range(1, number)),
            changed(frames::replay(1, number)),
            changed(frames::chunk(number, 1)),
            changed(frames::renderer(name)),
            changed(frames::entry(EntryId::Chunk(number), 5)),
            changed(frames::line(1, "a", at)),
            changed(pool::samples::job(number)),
            changed(pool::samples::worker(number)),
            changed(super::accounts::user(number)),
            changed(super::accounts::api_key(number, 1)),
            changed(super::accounts::act(at)),
            changed(super::accounts::schedule(n.into())),
        ]);
    }
}

fn a_cursor_nobody_gave_is_an_empty_page(desk: &mut Desk) {
    fill(desk);
    let long = "9".repeat(10_000);
    let garbage =
        ["", "0", "-1", "2", "a", "기기", "' OR 1=1 --", "\0", "1.1", ":", "99999999999999999999", &long];
    let crooked = [
        "sessions:",
        "chunks:-1",
        "frames:x",
        "quarantine:5",
        "quarantine:5.",
        "quarantine:x.chunk-1",
        "quarantine:5.chunk-",
        "renderers:",
        "pool_jobs:",
        "pool_jobs:-1",
        "workers:x",
        "users:",
        "users:-1",
        "api_keys:x",
        "audit:1.5",
        "schedules:",
        "schedules:2",
    ];
    for text in garbage.into_iter().chain(crooked) {
        assert_eq!(parts(desk.reader().as_ref(), Some(text), 2), [const { (0, None) }; 18], "{text}");
    }
}

fn a_cursor_of_another_list_is_an_empty_page(desk: &mut Desk) {
    fill(desk);
    let reader = desk.reader();
    for (place, (_, next)) in parts(reader.as_ref(), None, 1).into_iter().enumerate() {
        let mut expected = [const { (0, None) }; 18];
        expected[place] = (2, None);
        assert_eq!(parts(reader.as_ref(), next.as_deref(), 2), expected, "{next:?}");
    }
}

fn a_page_holds_at_least_one_item(desk: &mut Desk) {
    fill(desk);
    let least = parts(desk.reader().as_ref(), None, 0);
    assert!(least.iter().all(|(items, next)| *items == 1 && next.is_some()), "{least:?}");
    assert_eq!(parts(desk.reader().as_ref(), None, 100), [const { (3, None) }; 18]);
    let all = Cursor { after: None, limit: u32::MAX };
    assert_eq!(part(desk.reader().workers(&all)), (3, None));
}
