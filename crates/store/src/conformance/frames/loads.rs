//! Sessions: live state is loaded when a term begins; the past is looked up by key.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::Loaded;
use muster_model::{
    ChunkRecord, ChunkState, EntryId, Fact, FarmRecord, FrameChange, FrameTaskRecord, FrameTaskStatus, Key,
    QuarantineRecord, RendererRecord, SessionRecord, SessionStatus,
};

named![
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

/// What is loaded of sessions.
fn frames(desk: &mut Desk) -> Vec<FrameChange> {
    let frames = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Frames(change) => Some(change),
        _ => None,
    });
    frames.collect()
}

/// What is loaded of sessions beside the farm, shortened to what tells it apart.
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

fn records_of_sessions_are_handed_over_in_order(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    let mut desk = desk.reopen(fixture);
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
    assert_eq!(shown(&mut desk), expected);
    assert_eq!(format!("{:?}", desk.load()), format!("{:?}", desk.load()), "loading twice gives the same");
}

fn open_sessions_come_oldest_first_with_their_ranges(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    assert_eq!(shown(&mut desk), expected);
}

fn closed_sessions_and_what_is_theirs_are_not_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Ended, but its manifest may still have to be written.
    let merging = SessionRecord { open: true, ..closed_session(2, 5) };
    desk.commit([changed(closed_session(1, 5)), changed(merging), changed(session(3))]);
    desk.commit(
        (1..=3).flat_map(|number| [changed(done_range(number, 0, 5)), changed(chunk(number, number))]),
    );
    let two =
        ["farm", "session_2", "session_3", "session_2.00000000", "session_3.00000000", "chunk 2", "chunk 3"];
    assert_eq!(shown(&mut desk), two);
    desk.commit([changed(closed_session(2, 5))]);
    assert_eq!(shown(&mut desk), ["farm", "session_3", "session_3.00000000", "chunk 3"]);
}

fn only_live_chunks_are_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let used = ChunkRecord { state: ChunkState::Used, ..chunk(2, 1) };
    desk.commit([changed(session(1)), changed(chunk(1, 1)), changed(used), changed(retired_chunk(3, 1))]);
    assert_eq!(shown(&mut desk), ["farm", "session_1", "chunk 1"]);
    desk.commit([changed(retired_chunk(1, 1))]);
    assert_eq!(shown(&mut desk), ["farm", "session_1"]);
}

/// S15: a move that was not finished is taken up again after a restart.
fn only_entries_not_moved_yet_are_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let moved = |id| QuarantineRecord { moved: true, ..entry(id, 10) };
    desk.commit([changed(entry(EntryId::Chunk(1), 10)), changed(moved(EntryId::Chunk(2)))]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(shown(&mut desk), ["farm", "chunk-1"]);
    desk.commit([changed(moved(EntryId::Chunk(1)))]);
    assert_eq!(shown(&mut desk), ["farm"]);
    desk.commit([changed(entry(EntryId::Chunk(2), 20))]);
    assert_eq!(shown(&mut desk), ["farm", "chunk-2"]);
}

fn texts_only_people_read_are_left_out(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
    assert_eq!(frames(&mut desk.reopen(fixture)), expected);
}

/// S12: no id is granted again after a restart.
fn the_farm_is_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let farm = FarmRecord { paused: true, next_chunk: 8, next_id: 7_000_000 };
    desk.commit([changed(farm)]);
    assert_eq!(frames(&mut desk.reopen(fixture)), [FrameChange::Farm(farm)]);
}

fn the_largest_session_number_is_told(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(closed_session(7, 5)), changed(session(3))]);
    desk.commit([changed(session(5))]);
    let mut desk = desk.reopen(fixture);
    let told = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::SessionSeq(seq) => Some(seq),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [7]);
}

fn sessions_are_loaded_after_jobs(fixture: &mut dyn Fixture) {
    use crate::conformance::samples::{job, task, worker};
    let mut desk = Desk::open(fixture);
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
fn a_session_is_a_fact_once_it_closed(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let key = || Key::Session(session_id(1));
    assert_eq!(desk.fact(key()), None);
    for status in SessionStatus::ALL {
        desk.commit([changed(SessionRecord { status, ..session(1) })]);
        assert_eq!(desk.fact(key()), None, "{status:?}: something of it may be live");
    }
    for status in [SessionStatus::Completed, SessionStatus::Failed, SessionStatus::Cancelled] {
        let closed = SessionRecord { status, ..closed_session(1, 5) };
        desk.commit([changed(closed.clone())]);
        desk = desk.reopen(fixture);
        let found = SessionRecord { body: None, ..closed };
        assert_eq!(desk.fact(key()), Some(Fact::Session(Box::new(found))));
    }
}

/// S5: a repeat of a completion is recognised, also after a restart.
fn a_range_is_a_fact_once_it_ended(fixture: &mut dyn Fixture) {
    use FrameTaskStatus::{Assigned, Cancelled, Completed, Lost, Pending, Running};
    let mut desk = Desk::open(fixture);
    let key = || Key::FrameTask(range_id(1, 100));
    for status in [Pending, Assigned, Running, Lost] {
        desk.commit([changed(FrameTaskRecord { status, ..done_range(1, 100, 5) })]);
        assert_eq!(desk.fact(key()), None, "{status:?}");
    }
    for status in [Completed, Cancelled] {
        let ended = FrameTaskRecord { status, ..done_range(1, 100, 5) };
        desk.commit([changed(ended.clone())]);
        desk = desk.reopen(fixture);
        let found = FrameTaskRecord { result: None, ..ended };
        assert_eq!(desk.fact(key()), Some(Fact::FrameTask(Box::new(found))));
    }
    for other in [range_id(1, 0), range_id(1, 101), range_id(2, 100), range_id(1, u64::MAX)] {
        assert_eq!(desk.fact(Key::FrameTask(other)), None);
    }
}

/// S13: that a chunk is retired is known after a restart.
fn a_chunk_is_a_fact_whatever_became_of_it(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for (number, state) in (1..).zip(ChunkState::ALL) {
        desk.commit([changed(ChunkRecord { state, ..retired_chunk(number, 1) })]);
    }
    let mut desk = desk.reopen(fixture);
    for (number, state) in (1..).zip(ChunkState::ALL) {
        let found = ChunkRecord { state, ..retired_chunk(number, 1) };
        assert_eq!(desk.fact(Key::Chunk(number)), Some(Fact::Chunk(Box::new(found))));
    }
    for unknown in [0, 4, u64::MAX] {
        assert_eq!(desk.fact(Key::Chunk(unknown)), None);
    }
}

fn many_keys_of_sessions_are_looked_up_at_once(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=500).flat_map(|n| [changed(done_range(1, n, 5)), changed(chunk(n, 1))]));
    desk.commit([changed(closed_session(2, 5)), changed(session(1))]);
    let both = |n| [Key::FrameTask(range_id(1, n)), Key::Chunk(n)];
    let mut keys: Vec<Key> = (1..=1_000).flat_map(both).collect();
    keys.extend([Key::Session(session_id(1)), Key::Session(session_id(2))]);
    let facts = desk.term.lookup.facts(&keys).expect("keys are looked up");
    assert_eq!(keys.iter().filter(|key| facts.get(key).is_some()).count(), 1_001);
}
