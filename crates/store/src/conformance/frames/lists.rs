//! Lists of sessions are read in pages: nothing twice, nothing missing.

use super::{
    Fixture,
    desk::{Desk, read_all},
    named,
    samples::*,
};
use crate::{ChunkFilter, Cursor, DiagnosticFilter, OpenCounts, Page, StoreError};
use muster_model::{
    ChunkState, EntryId, FrameTaskRecord, QuarantineRecord, SessionRecord, SessionStatus, Timestamp,
};

named![
    sessions_come_newest_first_in_pages,
    sessions_are_filtered,
    ranges_come_by_first_frame_in_pages,
    replays_come_by_their_new_chunk_in_pages,
    chunks_come_by_number_in_pages,
    chunks_are_filtered,
    renderers_come_by_name_in_pages,
    entries_come_newest_first_in_pages,
    diagnostics_come_newest_first_in_pages,
    diagnostics_are_filtered,
    a_cursor_nobody_gave_is_an_empty_page_of_sessions_too,
    a_cursor_of_another_list_of_sessions_is_an_empty_page,
    a_line_that_comes_later_disturbs_no_page,
    sessions_that_are_open_are_counted,
];

const SIZES: [u32; 5] = [1, 2, 3, 7, 100];

fn sessions_come_newest_first_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Ids sort against the ages here.
    let aged = |seq| SessionRecord { seq, ..session(100 - seq) };
    desk.commit((1..=7).map(|seq| changed(aged(seq))));
    let reader = desk.reader();
    let expected: Vec<_> = (1..=7).rev().map(|seq| SessionRecord { body: None, ..aged(seq) }).collect();
    for size in SIZES {
        assert_eq!(read_all(size, |page| reader.sessions(None, page)), expected);
    }
}

fn sessions_are_filtered(fixture: &mut dyn Fixture) {
    use SessionStatus::{Cancelled, Completed, Failed, Paused, Running};
    let mut desk = Desk::open(fixture);
    let paused = SessionRecord { status: Paused, ..session(2) };
    let merging = SessionRecord { open: true, ..closed_session(3, 5) };
    let failed = SessionRecord { status: Failed, ..closed_session(5, 5) };
    desk.commit([session(1), paused, merging, closed_session(4, 5), failed, session(6)].map(changed));
    let reader = desk.reader();
    let seqs = |status| -> Vec<u64> {
        let sessions = read_all(1, |page| reader.sessions(Some(status), page));
        sessions.iter().map(|session| session.seq).collect()
    };
    assert_eq!(
        [Running, Paused, Completed, Failed, Cancelled].map(seqs),
        [vec![6, 1], vec![2], vec![4, 3], vec![5], vec![]]
    );
}

fn ranges_come_by_first_frame_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let starts = [0, 9, 10, 99, 100, 1_000_000, 99_999_999];
    desk.commit(starts.into_iter().rev().map(|start| changed(done_range(2, start, 5))));
    desk.commit([changed(range(1, 5)), changed(range(3, 5)), changed(range(20, 5))]);
    let reader = desk.reader();
    let expected = starts.map(|start| FrameTaskRecord { result: None, ..done_range(2, start, 5) });
    for size in SIZES {
        assert_eq!(read_all(size, |page| reader.frame_tasks(&session_id(2), page)), expected);
        let whole = starts.map(|start| done_range(2, start, 5));
        assert_eq!(read_all(size, |page| reader.frame_results(&session_id(2), page)), whole);
    }
    assert_eq!(read_all(2, |page| reader.frame_tasks(&session_id(9), page)), []);
}

fn replays_come_by_their_new_chunk_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([100, 9, 10, 2].map(|new| changed(replay(2, new))));
    desk.commit([changed(replay(1, 5)), changed(replay(3, 5)), changed(replay(20, 5))]);
    let reader = desk.reader();
    for size in SIZES {
        let read = read_all(size, |page| reader.replays(&session_id(2), page));
        assert_eq!(read, [2, 9, 10, 100].map(|new| replay(2, new)));
    }
    assert_eq!(read_all(2, |page| reader.replays(&session_id(9), page)), []);
}

fn chunks_come_by_number_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=12).rev().map(|number| changed(chunk(number, 13 - number))));
    let reader = desk.reader();
    for size in SIZES {
        let read = read_all(size, |page| reader.chunks(&ChunkFilter::default(), page));
        assert_eq!(read, (1..=12).map(|number| chunk(number, 13 - number)).collect::<Vec<_>>());
    }
}

fn chunks_are_filtered(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit(
        [chunk(1, 1), retired_chunk(2, 1), chunk(3, 2), retired_chunk(4, 2), chunk(5, 1)].map(changed),
    );
    // What became of one changes where it is found.
    desk.commit([changed(retired_chunk(5, 1))]);
    let reader = desk.reader();
    let numbers = |state, session: Option<u64>| -> Vec<u64> {
        let filter = ChunkFilter { state, session: session.map(session_id) };
        let chunks = read_all(1, |page| reader.chunks(&filter, page));
        chunks.iter().map(|chunk| chunk.ids.chunk).collect()
    };
    assert_eq!(numbers(Some(ChunkState::Retired), None), [2, 4, 5]);
    assert_eq!(numbers(Some(ChunkState::Live), None), [1, 3]);
    assert_eq!(numbers(None, Some(1)), [1, 2, 5]);
    assert_eq!(numbers(Some(ChunkState::Retired), Some(2)), [4]);
    assert_eq!(numbers(Some(ChunkState::Used), None), [0; 0]);
    assert_eq!(numbers(None, Some(9)), [0; 0]);
}

/// In the order of their bytes.
const NAMES: [&str; 7] = ["10", "9", "A", "_", "a", "b 'c'", "기기"];

fn renderers_come_by_name_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit(NAMES.iter().rev().map(|id| changed(renderer(id))));
    let reader = desk.reader();
    for size in SIZES {
        assert_eq!(read_all(size, |page| reader.renderers(page)), NAMES.map(renderer));
    }
}

fn entries_come_newest_first_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let worker = |id| EntryId::Worker(name(id), session_id(1));
    // Several of one moment, and ids that sort against the moments.
    let newest_first = [
        entry(EntryId::Chunk(1), 40),
        entry(worker("b.c"), 30),
        entry(worker("a"), 30),
        entry(EntryId::Chunk(9), 30),
        entry(EntryId::Chunk(10), 30),
        entry(EntryId::Chunk(99), 20),
        QuarantineRecord { moved: true, confirmed: Some("x".into()), ..entry(worker("z"), 10) },
    ];
    desk.commit(newest_first.iter().rev().cloned().map(changed));
    let reader = desk.reader();
    for size in SIZES {
        assert_eq!(read_all(size, |page| reader.quarantine(page)), newest_first);
    }
}

fn diagnostics_come_newest_first_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Several of one moment come in the order they were written.
    let lines = [line(1, "a", 1), line(2, "a", 2), line(1, "b", 2), line(1, "a", 2), line(3, "c", 9)];
    desk.commit(lines[..3].iter().cloned().map(changed));
    desk.commit(lines[3..].iter().cloned().map(changed));
    let reader = desk.reader();
    for size in SIZES {
        let read = read_all(size, |page| reader.diagnostics(&DiagnosticFilter::default(), page));
        assert_eq!(read, lines.iter().rev().cloned().collect::<Vec<_>>());
    }
}

fn diagnostics_are_filtered(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit(
        [line(1, "a", 1), line(2, "a", 2), line(1, "b", 3), line(1, "a", 4), line(3, "c", 5)].map(changed),
    );
    let reader = desk.reader();
    let moments = |session: Option<u64>, worker: Option<&str>| -> Vec<i64> {
        let filter = DiagnosticFilter { session: session.map(session_id), worker: worker.map(name) };
        read_all(1, |page| reader.diagnostics(&filter, page)).iter().map(|line| line.at.0).collect()
    };
    assert_eq!(moments(Some(1), None), [4, 3, 1]);
    assert_eq!(moments(None, Some("a")), [4, 2, 1]);
    assert_eq!(moments(Some(1), Some("a")), [4, 1]);
    assert_eq!(moments(Some(9), None), [0; 0]);
    assert_eq!(moments(Some(3), Some("a")), [0; 0]);
}

fn filled(fixture: &mut dyn Fixture) -> Desk {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=3).map(|number| changed(session(number))));
    desk.commit((1..=3).map(|number| changed(range(1, number))));
    desk.commit((1..=3).map(|number| changed(replay(1, number))));
    desk.commit((1..=3).map(|number| changed(chunk(number, 1))));
    desk.commit(["a", "b", "c"].map(|id| changed(renderer(id))));
    desk.commit((1..=3).map(|number| changed(entry(EntryId::Chunk(number), 5))));
    desk.commit((1..=3).map(|at| changed(line(1, "a", at))));
    desk
}

/// How many items a page has, and where the next begins.
fn part<T>(page: Result<Page<T>, StoreError>) -> (usize, Option<String>) {
    let page = page.expect("a page is read");
    (page.items.len(), page.next)
}

/// A page of each list.
fn found(desk: &Desk, after: Option<&str>, limit: u32) -> [(usize, Option<String>); 7] {
    let page = &Cursor { after: after.map(str::to_owned), limit };
    let reader = desk.reader();
    [
        part(reader.sessions(None, page)),
        part(reader.frame_tasks(&session_id(1), page)),
        part(reader.replays(&session_id(1), page)),
        part(reader.chunks(&ChunkFilter::default(), page)),
        part(reader.renderers(page)),
        part(reader.quarantine(page)),
        part(reader.diagnostics(&DiagnosticFilter::default(), page)),
    ]
}

fn a_cursor_nobody_gave_is_an_empty_page_of_sessions_too(fixture: &mut dyn Fixture) {
    let desk = filled(fixture);
    let garbage = ["", "0", "-1", "a", "' OR 1=1 --", "\0", "1.1", ":", "sessions:", "chunks:-1", "frames:x"];
    let crooked =
        ["quarantine:5", "quarantine:5.", "quarantine:x.chunk-1", "quarantine:5.chunk-", "renderers:"];
    for text in garbage.into_iter().chain(crooked) {
        assert_eq!(found(&desk, Some(text), 2), [const { (0, None) }; 7], "{text}");
    }
    let full = found(&desk, None, 0);
    assert!(full.iter().all(|(items, next)| *items == 1 && next.is_some()), "a page holds at least one item");
}

fn a_cursor_of_another_list_of_sessions_is_an_empty_page(fixture: &mut dyn Fixture) {
    let desk = filled(fixture);
    for (place, (_, next)) in found(&desk, None, 1).into_iter().enumerate() {
        let mut expected = [const { (0, None) }; 7];
        expected[place] = (2, None);
        assert_eq!(found(&desk, next.as_deref(), 2), expected, "{next:?}");
    }
}

fn a_line_that_comes_later_disturbs_no_page(fixture: &mut dyn Fixture) {
    let mut desk = filled(fixture);
    let reader = desk.reader();
    let lines = |after| {
        reader.diagnostics(&DiagnosticFilter::default(), &Cursor { after, limit: 2 }).expect("they are read")
    };
    let first = lines(None);
    desk.commit([changed(line(1, "a", 4))]);
    assert_eq!(lines(first.next).items, [line(1, "a", 1)]);
}

/// A session of which nothing was given out yet is pending, whatever its status says.
fn sessions_that_are_open_are_counted(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Ids sort against the ages here.
    let aged = |seq: u64, at: i64| SessionRecord { seq, created_at: Timestamp(at), ..session(100 - seq) };
    let paused = SessionRecord { status: SessionStatus::Paused, ..aged(1, 1) };
    let merging = SessionRecord { open: true, ..closed_session(3, 5) };
    desk.commit([paused, aged(2, 20), merging, aged(4, 40), aged(5, 30), closed_session(6, 5)].map(changed));
    desk.commit([range(98, 0), done_range(98, 100, 5)].map(changed));
    let sessions = desk.reader().backlog().expect("it is read").sessions;
    let oldest = Some((session_id(96), Timestamp(40)));
    assert_eq!(sessions, OpenCounts { pending: 2, running: 1, paused: 1, oldest });
}
