//! What memory has forgotten of sessions is found by its key, and only when it is past.

use super::{Fixture, desk::Desk, named, samples::*};
use muster_model::{
    ChunkRecord, ChunkState, Fact, FrameTaskRecord, FrameTaskStatus, Key, SessionRecord, SessionStatus,
};

named![
    a_session_is_a_fact_once_it_closed,
    a_range_is_a_fact_once_it_ended,
    a_chunk_is_a_fact_whatever_became_of_it,
    many_keys_of_sessions_are_looked_up_at_once,
];

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
