//! Records of sessions come back as they were written, over a restart.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::{ChunkFilter, Cursor, DiagnosticFilter};
use muster_model::{
    ChunkRecord, ChunkState, DiagnosticKind, DiagnosticRecord, Digest, EntryId, FarmRecord, FrameRange,
    FrameTaskId, FrameTaskRecord, FrameTaskStatus, IdRange, QuarantineRecord, Removal, RendererRecord,
    RendererState, ReplayRecord, SessionId, SessionRecord, SessionStatus, Timestamp, TransitionRecord,
};

named![
    a_renderer_comes_back_whole,
    transitions_come_back_in_order,
    a_session_comes_back_whole,
    a_range_comes_back_whole,
    a_chunk_comes_back_whole,
    a_replay_comes_back_whole,
    an_entry_of_the_quarantine_comes_back_whole,
    a_line_of_diagnostics_comes_back_whole,
    the_farm_begins_with_the_first_id,
    the_farm_comes_back,
    large_texts_of_sessions_come_back,
    what_was_never_written_is_not_there,
];

const LATE: Option<Timestamp> = Some(Timestamp(i64::MAX));

/// The largest number a column can hold: ids end before 2^63 (S13).
const MOST: u64 = i64::MAX.unsigned_abs();

const ALL: Cursor = Cursor { after: None, limit: 100 };

/// S1: a worker's token, S8: its failures and losses, and S6: how it took its removal survive a restart.
fn a_renderer_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = |state: RendererState| RendererRecord {
        state,
        state_since: Timestamp(-5),
        token_hash: [0xff; 32],
        endpoint: Some("http://10.0.0.7:9000/a?b='c'".into()),
        slots: u32::MAX,
        failures: vec![Timestamp(3), Timestamp(1), Timestamp(i64::MAX)],
        losses: vec![Timestamp(2), Timestamp(i64::MIN)],
        last_completed: LATE,
        removal: Removal::ALL.into_iter().nth(state as usize),
        removed_from: vec![session_id(7), session_id(1)],
        registered_at: Timestamp(2),
        last_heartbeat: LATE,
        description: Some("{\"gpu\": \"기기\"}\n".into()),
        ..renderer(state.as_str())
    };
    let written: Vec<RendererRecord> =
        RendererState::ALL.into_iter().map(full).chain([renderer("gpu.01")]).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for renderer in written {
        assert_eq!(desk.reader().renderer(&renderer.id).expect("it is read"), Some(renderer));
    }
}

/// S11: every transition survives a restart with its cause and time.
fn transitions_come_back_in_order(fixture: &mut dyn Fixture) {
    use RendererState::{Degraded, Healthy, Quarantined, Registered, Removed};
    let mut desk = Desk::open(fixture);
    let moved =
        |from, to, cause: &str, at| TransitionRecord { from, to, cause: cause.into(), ..transition("a", at) };
    let written = [
        moved(Registered, Healthy, "", 10),
        moved(Healthy, Degraded, "queueRatio 0.9 ≥ 0.85", 10),
        moved(Degraded, Quarantined, "an operator's \"word\"", 20),
        moved(Quarantined, Removed, "x", i64::MAX),
    ];
    desk.commit([changed(transition("b", 5))]);
    desk.commit(written.iter().cloned().map(changed));
    desk.commit([changed(transition("b", 30))]);
    let desk = desk.reopen(fixture);
    assert_eq!(desk.reader().transitions(&name("a"), 100).expect("they are read"), written);
    assert_eq!(desk.reader().transitions(&name("a"), 2).expect("they are read"), written[2..]);
    assert_eq!(desk.reader().transitions(&name("a"), 0).expect("they are read"), []);
    assert_eq!(desk.reader().transitions(&name("c"), 9).expect("they are read"), []);
}

/// S26: a session survives a restart, and so does what a repeat of it is recognised by.
fn a_session_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = |(seq, status): (u64, SessionStatus)| SessionRecord {
        id: SessionId::new(&format!("{seq}{}", "_".repeat(63))).expect("it is an id"),
        status,
        total_frames: MOST,
        frames_per_task: MOST,
        strict: true,
        output: "shots/밤 7".into(),
        digest: Digest(u128::MAX),
        completed_frames: MOST,
        failed_frames: MOST,
        open: !status.is_ended(),
        created_at: Timestamp(-5),
        ended_at: LATE,
        error: Some("[0, 100) used up its attempts".into()),
        ..session(seq)
    };
    let written: Vec<SessionRecord> = (1..).zip(SessionStatus::ALL).map(full).chain([session(9)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for session in written {
        assert_eq!(desk.reader().session(&session.id).expect("it is read"), Some(session));
    }
}

fn full_range(start: u64, status: FrameTaskStatus) -> FrameTaskRecord {
    FrameTaskRecord {
        end: MOST,
        status,
        attempt: u16::MAX,
        failures: u16::MAX,
        losses: u16::MAX,
        losers: vec![name("z"), name("a"), name("\"기기\"")],
        worker: name("gpu.01"),
        ids: IdRange { chunk: MOST, start: MOST - 1, end: MOST },
        created_at: Timestamp(1),
        granted_at: Timestamp(2),
        confirmed_at: Some(Timestamp(3)),
        ended_at: LATE,
        dropped: MOST,
        digest: Some(Digest(u128::MAX)),
        error: Some("exit 1: 'x' \"y\"\n".into()),
        result: Some("{\"ok\": true}".into()),
        ..range(1, start)
    }
}

/// S8: the failures of a range, and who failed it, survive a restart.
fn a_range_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let starts = [0, 1, 2, 99, 100, 1_000_000, FrameTaskId::START_MAX];
    let full = starts.into_iter().zip(FrameTaskStatus::ALL).map(|(start, status)| full_range(start, status));
    let written: Vec<FrameTaskRecord> = full.chain([range(2, 0)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for range in written {
        assert_eq!(desk.reader().frame_task(&range.id).expect("it is read"), Some(range));
    }
}

/// S13: retired chunks survive a restart.
fn a_chunk_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = |(number, state): (u64, ChunkState)| ChunkRecord {
        ids: IdRange { chunk: number, start: MOST - 1, end: MOST },
        task: range_id(2, FrameTaskId::START_MAX),
        worker: name("gpu.01"),
        attempt: u16::MAX,
        state,
        reason: Some("an operator said 'no'".into()),
        at: Timestamp(i64::MAX),
    };
    let numbers = [2, 3, MOST];
    let written: Vec<ChunkRecord> =
        [chunk(1, 1)].into_iter().chain(numbers.into_iter().zip(ChunkState::ALL).map(full)).collect();
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for chunk in &written {
        assert_eq!(desk.reader().chunk(chunk.ids.chunk).expect("it is read"), Some(chunk.clone()));
    }
    let retired = ChunkFilter { state: Some(ChunkState::Retired), session: None };
    assert_eq!(desk.reader().chunks(&retired, &ALL).expect("they are read").items, written[3..]);
}

/// S16: replays survive a restart.
fn a_replay_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let written = ReplayRecord {
        range: FrameRange { start: 100, end: MOST },
        retired: MOST - 1,
        at: Timestamp(i64::MIN),
        ..replay(1, MOST)
    };
    desk.commit([changed(written.clone()), changed(replay(2, 9))]);
    let desk = desk.reopen(fixture);
    assert_eq!(desk.reader().replays(&session_id(1), &ALL).expect("they are read").items, [written]);
    assert_eq!(desk.reader().replays(&session_id(2), &ALL).expect("they are read").items, [replay(2, 9)]);
}

/// S15: what was set apart, and what a person said of it, survives a restart.
fn an_entry_of_the_quarantine_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = QuarantineRecord {
        output: "shots/밤".into(),
        worker: name("gpu.01"),
        moved: true,
        files: MOST,
        confirmed: Some("looked at; 'fine'".into()),
        ..entry(EntryId::Worker(name("gpu.01"), session_id(2)), 20)
    };
    let written = [entry(EntryId::Chunk(u64::MAX), 10), full];
    desk.commit(written.iter().cloned().map(changed));
    let desk = desk.reopen(fixture);
    for entry in written {
        assert_eq!(desk.reader().quarantined(&entry.id).expect("it is read"), Some(entry));
    }
}

/// S4: what workers report survives a restart.
fn a_line_of_diagnostics_comes_back_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = DiagnosticRecord {
        kind: DiagnosticKind::GivenUp,
        task: Some(range_id(1, 100)),
        text: "frame 107: NaN\n\u{0} '밤'".into(),
        ..line(1, "gpu.01", 10)
    };
    desk.commit([changed(full.clone()), changed(line(1, "gpu.01", 20))]);
    let desk = desk.reopen(fixture);
    let read = desk.reader().diagnostics(&DiagnosticFilter::default(), &ALL).expect("they are read");
    assert_eq!(read.items, [line(1, "gpu.01", 20), full]);
}

/// S12: chunks and ids are counted from 1.
fn the_farm_begins_with_the_first_id(fixture: &mut dyn Fixture) {
    let first = FarmRecord { paused: false, next_chunk: 1, next_id: 1 };
    assert_eq!(Desk::open(fixture).reader().farm().expect("it is read"), first);
}

/// S6: a broadcast outlives a restart. S12: so does how far ids were granted.
fn the_farm_comes_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let farm = |paused, next| FarmRecord { paused, next_chunk: next, next_id: next };
    desk.commit([changed(farm(false, 9)), changed(farm(true, MOST))]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(desk.reader().farm().expect("it is read"), farm(true, MOST));
    desk.commit([changed(farm(false, MOST))]);
    assert_eq!(desk.reader().farm().expect("it is read"), farm(false, MOST));
}

fn large_texts_of_sessions_come_back(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let large: Box<str> = "밤낮".repeat(200_000).into();
    let session = SessionRecord { body: Some(large.clone()), ..session(1) };
    let range = FrameTaskRecord { result: Some(large.clone()), ..done_range(1, 0, 5) };
    let renderer = RendererRecord { description: Some(large), ..renderer("gpu-1") };
    desk.commit([changed(session.clone()), changed(range.clone()), changed(renderer.clone())]);
    let reader = desk.reader();
    assert_eq!(reader.session(&session.id).expect("it is read"), Some(session));
    assert_eq!(reader.frame_task(&range.id).expect("it is read"), Some(range));
    assert_eq!(reader.renderer(&renderer.id).expect("it is read"), Some(renderer));
}

fn what_was_never_written_is_not_there(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(range(1, 100)), changed(chunk(1, 1)), changed(entry(EntryId::Chunk(1), 10))]);
    let reader = desk.reader();
    assert_eq!(reader.session(&session_id(1)).expect("it is read"), None);
    assert_eq!(reader.renderer(&name("gpu-1")).expect("it is read"), None);
    for id in [range_id(1, 0), range_id(2, 100), range_id(1, u64::MAX)] {
        assert_eq!(reader.frame_task(&id).expect("it is read"), None);
    }
    for chunk in [0, 2, u64::MAX] {
        assert_eq!(reader.chunk(chunk).expect("it is read"), None);
    }
    for id in [EntryId::Chunk(10), EntryId::Worker(name("gpu-1"), session_id(1))] {
        assert_eq!(reader.quarantined(&id).expect("it is read"), None);
    }
}
