//! Sessions: lists are read in pages, live state is loaded when a term begins, the past is looked up by key.

use super::samples::*;
use crate::{
    ChunkFilter, Cursor, DiagnosticFilter, Loaded, OpenCounts,
    conformance::{
        desk::{Desk, SIZES, assert_listed, read_all},
        loaded, named,
    },
};
use muster_model::{
    ChunkRecord, ChunkState, EntryId, Fact, FarmRecord, FrameChange, FrameTaskRecord, FrameTaskStatus, Key,
    QuarantineRecord, RendererRecord, SessionRecord, SessionStatus, Timestamp,
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
    a_line_that_comes_later_disturbs_no_page,
    sessions_that_are_open_are_counted,
    records_of_sessions_are_handed_over_in_order,
    open_sessions_come_oldest_first_with_their_ranges,
    closed_sessions_and_what_is_theirs_are_not_loaded,
    only_live_chunks_are_loaded,
    only_entries_not_moved_yet_are_loaded,
    texts_only_people_read_are_left_out,
    the_farm_is_loaded,
    the_largest_session_number_is_told,
    sessions_are_loaded_after_jobs,
    a_session_is_a_fact_once_it_closed,
    a_range_is_a_fact_once_it_ended,
    a_chunk_is_a_fact_whatever_became_of_it,
    many_keys_of_sessions_are_looked_up_at_once,
];

fn sessions_come_newest_first_in_pages(desk: &mut Desk) {
    // Ids sort against the ages here.
    let aged = |seq| SessionRecord { seq, ..session(100 - seq) };
    desk.commit((1..=7).map(|seq| changed(aged(seq))));
    let reader = desk.reader();
    let expected: Vec<_> = (1..=7).rev().map(|seq| SessionRecord { body: None, ..aged(seq) }).collect();
    assert_listed(expected, |page| reader.sessions(None, page));
}

fn sessions_are_filtered(desk: &mut Desk) {
    use SessionStatus::{Cancelled, Completed, Failed, Paused, Running};
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

fn ranges_come_by_first_frame_in_pages(desk: &mut Desk) {
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

fn replays_come_by_their_new_chunk_in_pages(desk: &mut Desk) {
    desk.commit([100, 9, 10, 2].map(|new| changed(replay(2, new))));
    desk.commit([changed(replay(1, 5)), changed(replay(3, 5)), changed(replay(20, 5))]);
    let reader = desk.reader();
    assert_listed([2, 9, 10, 100].map(|new| replay(2, new)), |page| reader.replays(&session_id(2), page));
    assert_eq!(read_all(2, |page| reader.replays(&session_id(9), page)), []);
}

fn chunks_come_by_number_in_pages(desk: &mut Desk) {
    desk.commit((1..=12).rev().map(|number| changed(chunk(number, 13 - number))));
    let reader = desk.reader();
    assert_listed((1..=12).map(|number| chunk(number, 13 - number)), |page| {
        reader.chunks(&ChunkFilter::default(), page)
    });
}

fn chunks_are_filtered(desk: &mut Desk) {
    desk.commit(
        [chunk(1, 1), retired_chunk(2, 1), chunk(3, 2), retired_chunk(4, 2), chunk(5, 1)].map(changed),
    );
    // A chunk that is retired later moves to the retired list.
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

fn renderers_come_by_name_in_pages(desk: &mut Desk) {
    desk.commit(NAMES.iter().rev().map(|id| changed(renderer(id))));
    let reader = desk.reader();
    assert_listed(NAMES.map(renderer), |page| reader.renderers(page));
}

fn entries_come_newest_first_in_pages(desk: &mut Desk) {
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
    assert_listed(newest_first, |page| reader.quarantine(page));
}

fn diagnostics_come_newest_first_in_pages(desk: &mut Desk) {
    // Several of one moment come in the order they were written.
    let lines = [line(1, "a", 1), line(2, "a", 2), line(1, "b", 2), line(1, "a", 2), line(3, "c", 9)];
    desk.commit(lines[..3].iter().cloned().map(changed));
    desk.commit(lines[3..].iter().cloned().map(changed));
    let reader = desk.reader();
    assert_listed(lines.iter().rev().cloned(), |page| reader.diagnostics(&DiagnosticFilter::default(), page));
}

fn diagnostics_are_filtered(desk: &mut Desk) {
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

fn a_line_that_comes_later_disturbs_no_page(desk: &mut Desk) {
    desk.commit((1..=3).map(|at| changed(line(1, "a", at))));
    let reader = desk.reader();
    let lines = |after| {
        reader.diagnostics(&DiagnosticFilter::default(), &Cursor { after, limit: 2 }).expect("they are read")
    };
    let first = lines(None);
    desk.commit([changed(line(1, "a", 4))]);
    assert_eq!(lines(first.next).items, [line(1, "a", 1)]);
}

/// A session of which nothing was given out yet is pending, whatever its status says.
fn sessions_that_are_open_are_counted(desk: &mut Desk) {
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

/// Records of sessions that are loaded.
fn frames(desk: &mut Desk) -> Vec<FrameChange> {
    loaded!(desk, Loaded::Frames(change) => change)
}

/// The same, shortened to what tells them apart.
fn shown(desk: &mut Desk) -> Vec<String> {
    let show = |change: FrameChange| match change {
        FrameChange::Farm(_) => "farm".to_owned(),
        FrameChange::Renderer(renderer) => renderer.id.to_string(),
        FrameChange::Session(session) => session.id.to_string(),
        FrameChange::Task(task) => task.id.to_string(),
        FrameChange::Chunk(chunk) => format!("chunk {}", chunk.ids.chunk),
        FrameChange::Quarantine(entry) => entry.id.to_string(),
        other => panic!("{other:?} is not live"),
    };
    frames(desk).into_iter().map(show).collect()
}

fn records_of_sessions_are_handed_over_in_order(desk: &mut Desk) {
    desk.commit([
        changed(line(1, "gpu-1", 5)),
        changed(entry(EntryId::Worker(name("gpu-1"), session_id(1)), 10)),
        changed(entry(EntryId::Chunk(9), 20)),
        changed(entry(EntryId::Chunk(10), 20)),
        changed(replay(1, 2)),
        changed(chunk(10, 1)),
        changed(chunk(9, 1)),
        changed(range(1, 100)),
        changed(range(1, 0)),
        changed(session(1)),
        changed(transition("gpu-1", 5)),
        changed(renderer("gpu-2")),
        changed(renderer("gpu-1")),
        changed(FarmRecord { paused: true, next_chunk: 11, next_id: 11 }),
    ]);
    desk.reopen();
    let expected = [
        "farm",
        "gpu-1",
        "gpu-2",
        "session_1",
        "session_1.00000000",
        "session_1.00000100",
        "chunk 9",
        "chunk 10",
        "worker-gpu-1.session_1",
        "chunk-10",
        "chunk-9",
    ];
    assert_eq!(shown(desk), expected);
    assert_eq!(format!("{:?}", desk.load()), format!("{:?}", desk.load()), "loading twice gives the same");
}

fn open_sessions_come_oldest_first_with_their_ranges(desk: &mut Desk) {
    // Ids sort against the ages here.
    let aged = |number, seq| changed(SessionRecord { seq, ..session(number) });
    desk.commit([aged(5, 2), aged(9, 1), aged(1, 3)]);
    desk.commit(
        [1, 5, 9]
            .into_iter()
            .flat_map(|number| [changed(range(number, 100)), changed(done_range(number, 0, 5))]),
    );
    let expected = [
        "farm",
        "session_9",
        "session_5",
        "session_1",
        "session_9.00000000",
        "session_9.00000100",
        "session_5.00000000",
        "session_5.00000100",
        "session_1.00000000",
        "session_1.00000100",
    ];
    assert_eq!(shown(desk), expected);
}

fn closed_sessions_and_what_is_theirs_are_not_loaded(desk: &mut Desk) {
    // Ended, but its manifest may still have to be written.
    let merging = SessionRecord { open: true, ..closed_session(2, 5) };
    desk.commit([changed(closed_session(1, 5)), changed(merging), changed(session(3))]);
    desk.commit(
        (1..=3).flat_map(|number| [changed(done_range(number, 0, 5)), changed(chunk(number, number))]),
    );
    let two =
        ["farm", "session_2", "session_3", "session_2.00000000", "session_3.00000000", "chunk 2", "chunk 3"];
    assert_eq!(shown(desk), two);
    desk.commit([changed(closed_session(2, 5))]);
    assert_eq!(shown(desk), ["farm", "session_3", "session_3.00000000", "chunk 3"]);
}

fn only_live_chunks_are_loaded(desk: &mut Desk) {
    let used = ChunkRecord { state: ChunkState::Used, ..chunk(2, 1) };
    desk.commit([changed(session(1)), changed(chunk(1, 1)), changed(used), changed(retired_chunk(3, 1))]);
    assert_eq!(shown(desk), ["farm", "session_1", "chunk 1"]);
    desk.commit([changed(retired_chunk(1, 1))]);
    assert_eq!(shown(desk), ["farm", "session_1"]);
}

/// S15: a move that was not finished is taken up again after a restart.
fn only_entries_not_moved_yet_are_loaded(desk: &mut Desk) {
    let moved = |id| QuarantineRecord { moved: true, ..entry(id, 10) };
    desk.commit([changed(entry(EntryId::Chunk(1), 10)), changed(moved(EntryId::Chunk(2)))]);
    desk.reopen();
    assert_eq!(shown(desk), ["farm", "chunk-1"]);
    desk.commit([changed(moved(EntryId::Chunk(1)))]);
    assert_eq!(shown(desk), ["farm"]);
    desk.commit([changed(entry(EntryId::Chunk(2), 20))]);
    assert_eq!(shown(desk), ["farm", "chunk-2"]);
}

fn texts_only_people_read_are_left_out(desk: &mut Desk) {
    desk.commit([changed(session(1)), changed(done_range(1, 0, 5)), changed(renderer("gpu-1"))]);
    desk.commit([changed(chunk(1, 1)), changed(entry(EntryId::Chunk(1), 10))]);
    let expected = [
        FrameChange::Farm(FarmRecord::default()),
        FrameChange::Renderer(Box::new(RendererRecord { description: None, ..renderer("gpu-1") })),
        FrameChange::Session(Box::new(SessionRecord { body: None, ..session(1) })),
        FrameChange::Task(Box::new(FrameTaskRecord { result: None, ..done_range(1, 0, 5) })),
        FrameChange::Chunk(chunk(1, 1)),
        FrameChange::Quarantine(Box::new(entry(EntryId::Chunk(1), 10))),
    ];
    assert_eq!(frames(desk.reopen()), expected);
}

/// S12: no id is granted again after a restart.
fn the_farm_is_loaded(desk: &mut Desk) {
    let farm = FarmRecord { paused: true, next_chunk: 8, next_id: 7_000_000 };
    desk.commit([changed(farm)]);
    assert_eq!(frames(desk.reopen()), [FrameChange::Farm(farm)]);
}

fn the_largest_session_number_is_told(desk: &mut Desk) {
    desk.commit([changed(closed_session(7, 5)), changed(session(3))]);
    desk.commit([changed(session(5))]);
    desk.reopen();
    assert_eq!(loaded!(desk, Loaded::SessionSeq(seq) => seq), [7]);
}

fn sessions_are_loaded_after_jobs(desk: &mut Desk) {
    use crate::conformance::samples::{job, task, worker};
    desk.commit([changed(session(1)), changed(renderer("gpu-1")), changed(job(1)), changed(task(1, 1))]);
    desk.commit([changed(worker("PC-01"))]);
    let rank = |loaded: &Loaded| match loaded {
        Loaded::Frames(_) | Loaded::SessionSeq(_) => 1,
        Loaded::Accounts(_) | Loaded::Pool(_) | Loaded::Schedule(_) => 2,
        _ => 0,
    };
    let order: Vec<u8> = desk.load().iter().map(rank).collect();
    assert!(order.is_sorted(), "{order:?}");
}

/// S26: a repeat of a closed session is recognised, also after a restart.
fn a_session_is_a_fact_once_it_closed(desk: &mut Desk) {
    let key = || Key::Session(session_id(1));
    assert_eq!(desk.fact(key()), None);
    for status in SessionStatus::ALL {
        desk.commit([changed(SessionRecord { status, ..session(1) })]);
        assert_eq!(desk.fact(key()), None, "{status:?}: something of it may be live");
    }
    for status in [SessionStatus::Completed, SessionStatus::Failed, SessionStatus::Cancelled] {
        let closed = SessionRecord { status, ..closed_session(1, 5) };
        desk.commit([changed(closed.clone())]);
        desk.reopen();
        let found = SessionRecord { body: None, ..closed };
        assert_eq!(desk.fact(key()), Some(Fact::Session(Box::new(found))));
    }
}

/// S5: a repeat of a completion is recognised, also after a restart.
fn a_range_is_a_fact_once_it_ended(desk: &mut Desk) {
    use FrameTaskStatus::{Assigned, Cancelled, Completed, Lost, Pending, Running};
    let key = || Key::FrameTask(range_id(1, 100));
    for status in [Pending, Assigned, Running, Lost] {
        desk.commit([changed(FrameTaskRecord { status, ..done_range(1, 100, 5) })]);
        assert_eq!(desk.fact(key()), None, "{status:?}");
    }
    for status in [Completed, Cancelled] {
        let ended = FrameTaskRecord { status, ..done_range(1, 100, 5) };
        desk.commit([changed(ended.clone())]);
        desk.reopen();
        let found = FrameTaskRecord { result: None, ..ended };
        assert_eq!(desk.fact(key()), Some(Fact::FrameTask(Box::new(found))));
    }
    for other in [range_id(1, 0), range_id(1, 101), range_id(2, 100), range_id(1, u64::MAX)] {
        assert_eq!(desk.fact(Key::FrameTask(other)), None);
    }
}

/// S13: that a chunk is retired is known after a restart.
fn a_chunk_is_a_fact_whatever_became_of_it(desk: &mut Desk) {
    for (number, state) in (1..).zip(ChunkState::ALL) {
        desk.commit([changed(ChunkRecord { state, ..retired_chunk(number, 1) })]);
    }
    desk.reopen();
    for (number, state) in (1..).zip(ChunkState::ALL) {
        let found = ChunkRecord { state, ..retired_chunk(number, 1) };
        assert_eq!(desk.fact(Key::Chunk(number)), Some(Fact::Chunk(Box::new(found))));
    }
    for unknown in [0, 4, u64::MAX] {
        assert_eq!(desk.fact(Key::Chunk(unknown)), None);
    }
}

fn many_keys_of_sessions_are_looked_up_at_once(desk: &mut Desk) {
    desk.commit((1..=500).flat_map(|n| [changed(done_range(1, n, 5)), changed(chunk(n, 1))]));
    desk.commit([changed(closed_session(2, 5)), changed(session(1))]);
    let both = |n| [Key::FrameTask(range_id(1, n)), Key::Chunk(n)];
    let mut keys: Vec<Key> = (1..=1_000).flat_map(both).collect();
    keys.extend([Key::Session(session_id(1)), Key::Session(session_id(2))]);
    let facts = desk.term.lookup.facts(&keys).expect("keys are looked up");
    assert_eq!(keys.iter().filter(|key| facts.get(key).is_some()).count(), 1_001);
}
