//! Records of sessions come back as they were written; a later row replaces an earlier one, but for what it leaves alone.

use super::samples::*;
use crate::{
    Batch, ChunkFilter, Cursor, DiagnosticFilter,
    conformance::{
        desk::{Desk, EMPTY, read_all},
        named,
    },
};
use muster_model::{
    Change, ChunkRecord, ChunkState, DiagnosticKind, DiagnosticRecord, Digest, EntryId, FarmRecord,
    FrameChange, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, IdRange, QuarantineRecord,
    Removal, RendererRecord, RendererState, ReplayRecord, SessionId, SessionRecord, SessionStatus, Timestamp,
    TransitionRecord,
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
    later_rows_of_sessions_replace_earlier_ones,
    later_rows_of_sessions_replace_those_of_their_batch,
    a_row_of_sessions_can_lose_what_it_had,
    no_description_leaves_the_description,
    no_body_leaves_the_body,
    a_body_and_a_description_can_be_replaced,
    a_range_put_back_loses_its_result,
    a_completed_range_keeps_its_result,
    a_renderer_that_is_gone_is_read_no_more,
    a_renderer_can_come_again,
    a_large_batch_of_ranges_is_kept_whole,
    a_batch_of_sessions_that_cannot_be_kept_leaves_no_trace,
];

const LATE: Option<Timestamp> = Some(Timestamp(i64::MAX));

/// The largest number a column can hold: ids end before 2^63 (S13).
const MOST: u64 = i64::MAX.unsigned_abs();

const ALL: Cursor = Cursor { after: None, limit: 100 };

/// S1: a worker's token, S8: its failures and losses, and S6: how it took its removal survive a restart.
fn a_renderer_comes_back_whole(desk: &mut Desk) {
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
    desk.reopen();
    for renderer in written {
        assert_eq!(desk.reader().renderer(&renderer.id).expect("it is read"), Some(renderer));
    }
}

/// S11: every transition survives a restart with its cause and time.
fn transitions_come_back_in_order(desk: &mut Desk) {
    use RendererState::{Degraded, Healthy, Quarantined, Registered, Removed};
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
    desk.reopen();
    assert_eq!(desk.reader().transitions(&name("a"), 100).expect("they are read"), written);
    assert_eq!(desk.reader().transitions(&name("a"), 2).expect("they are read"), written[2..]);
    assert_eq!(desk.reader().transitions(&name("a"), 0).expect("they are read"), []);
    assert_eq!(desk.reader().transitions(&name("c"), 9).expect("they are read"), []);
}

/// S26: a session survives a restart, and so does what a repeat of it is recognised by.
fn a_session_comes_back_whole(desk: &mut Desk) {
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
    desk.reopen();
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
fn a_range_comes_back_whole(desk: &mut Desk) {
    let starts = [0, 1, 2, 99, 100, 1_000_000, FrameTaskId::START_MAX];
    let full = starts.into_iter().zip(FrameTaskStatus::ALL).map(|(start, status)| full_range(start, status));
    let written: Vec<FrameTaskRecord> = full.chain([range(2, 0)]).collect();
    desk.commit(written.iter().cloned().map(changed));
    desk.reopen();
    for range in written {
        assert_eq!(desk.reader().frame_task(&range.id).expect("it is read"), Some(range));
    }
}

/// S13: retired chunks survive a restart.
fn a_chunk_comes_back_whole(desk: &mut Desk) {
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
    desk.reopen();
    for chunk in &written {
        assert_eq!(desk.reader().chunk(chunk.ids.chunk).expect("it is read"), Some(chunk.clone()));
    }
    let retired = ChunkFilter { state: Some(ChunkState::Retired), session: None };
    assert_eq!(desk.reader().chunks(&retired, &ALL).expect("they are read").items, written[3..]);
}

/// S16: replays survive a restart.
fn a_replay_comes_back_whole(desk: &mut Desk) {
    let written = ReplayRecord {
        range: FrameRange { start: 100, end: MOST },
        retired: MOST - 1,
        at: Timestamp(i64::MIN),
        ..replay(1, MOST)
    };
    desk.commit([changed(written.clone()), changed(replay(2, 9))]);
    desk.reopen();
    assert_eq!(desk.reader().replays(&session_id(1), &ALL).expect("they are read").items, [written]);
    assert_eq!(desk.reader().replays(&session_id(2), &ALL).expect("they are read").items, [replay(2, 9)]);
}

/// S15: what was set apart, and what a person said of it, survives a restart.
fn an_entry_of_the_quarantine_comes_back_whole(desk: &mut Desk) {
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
    desk.reopen();
    for entry in written {
        assert_eq!(desk.reader().quarantined(&entry.id).expect("it is read"), Some(entry));
    }
}

/// S4: what workers report survives a restart.
fn a_line_of_diagnostics_comes_back_whole(desk: &mut Desk) {
    let full = DiagnosticRecord {
        kind: DiagnosticKind::GivenUp,
        task: Some(range_id(1, 100)),
        text: "frame 107: NaN\n\u{0} '밤'".into(),
        ..line(1, "gpu.01", 10)
    };
    desk.commit([changed(full.clone()), changed(line(1, "gpu.01", 20))]);
    desk.reopen();
    let read = desk.reader().diagnostics(&DiagnosticFilter::default(), &ALL).expect("they are read");
    assert_eq!(read.items, [line(1, "gpu.01", 20), full]);
}

/// S12: chunks and ids are counted from 1.
fn the_farm_begins_with_the_first_id(desk: &mut Desk) {
    let first = FarmRecord { paused: false, next_chunk: 1, next_id: 1 };
    assert_eq!(desk.reader().farm().expect("it is read"), first);
}

/// S6: a broadcast outlives a restart. S12: so does how far ids were granted.
fn the_farm_comes_back(desk: &mut Desk) {
    let farm = |paused, next| FarmRecord { paused, next_chunk: next, next_id: next };
    desk.commit([changed(farm(false, 9)), changed(farm(true, MOST))]);
    desk.reopen();
    assert_eq!(desk.reader().farm().expect("it is read"), farm(true, MOST));
    desk.commit([changed(farm(false, MOST))]);
    assert_eq!(desk.reader().farm().expect("it is read"), farm(false, MOST));
}

fn large_texts_of_sessions_come_back(desk: &mut Desk) {
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

fn what_was_never_written_is_not_there(desk: &mut Desk) {
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

/// Everything as it was, and everything as it became.
fn before_and_after() -> (Vec<Change>, Vec<Change>) {
    let moved = QuarantineRecord { moved: true, files: 3, ..entry(EntryId::Chunk(1), 20) };
    let before = vec![
        changed(range(1, 100)),
        changed(range(1, 0)),
        changed(chunk(1, 1)),
        changed(session(1)),
        changed(renderer("gpu-1")),
        changed(entry(EntryId::Chunk(1), 10)),
        changed(replay(1, 2)),
    ];
    let after = vec![
        changed(done_range(1, 0, 5)),
        changed(retired_chunk(1, 1)),
        changed(closed_session(1, 6)),
        changed(RendererRecord { state: RendererState::Lost, ..renderer("gpu-1") }),
        changed(moved),
        changed(ReplayRecord { at: Timestamp(9), ..replay(1, 2) }),
    ];
    (before, after)
}

fn assert_replaced(desk: &Desk) {
    let reader = desk.reader();
    let all = Cursor { after: None, limit: 9 };
    assert_eq!(reader.frame_task(&range_id(1, 0)).expect("it is read"), Some(done_range(1, 0, 5)));
    assert_eq!(reader.frame_task(&range_id(1, 100)).expect("it is read"), Some(range(1, 100)));
    assert_eq!(reader.chunk(1).expect("it is read"), Some(retired_chunk(1, 1)));
    assert_eq!(reader.session(&session_id(1)).expect("it is read"), Some(closed_session(1, 6)));
    let state = reader.renderer(&name("gpu-1")).expect("it is read").map(|renderer| renderer.state);
    assert_eq!(state, Some(RendererState::Lost));
    let entries = reader.quarantine(&all).expect("they are read").items;
    assert_eq!(entries.iter().map(|entry| (entry.moved, entry.files)).collect::<Vec<_>>(), [(true, 3)]);
    let replays = reader.replays(&session_id(1), &all).expect("they are read").items;
    assert_eq!(replays.iter().map(|replay| replay.at.0).collect::<Vec<_>>(), [9]);
}

fn later_rows_of_sessions_replace_earlier_ones(desk: &mut Desk) {
    let (before, after) = before_and_after();
    desk.commit(before);
    desk.commit(after);
    assert_replaced(desk);
    assert_replaced(desk.reopen());
}

fn later_rows_of_sessions_replace_those_of_their_batch(desk: &mut Desk) {
    let (before, after) = before_and_after();
    desk.commit(before.into_iter().chain(after));
    assert_replaced(desk);
    assert_replaced(desk.reopen());
}

fn a_row_of_sessions_can_lose_what_it_had(desk: &mut Desk) {
    let at = Some(Timestamp(9));
    let losers = vec![name("gpu-2")];
    desk.commit([
        changed(FrameTaskRecord { losers, confirmed_at: at, error: Some("x".into()), ..done_range(1, 0, 5) }),
        changed(SessionRecord { ended_at: at, error: Some("x".into()), ..session(1) }),
        changed(RendererRecord {
            endpoint: Some("http://a".into()),
            failures: vec![Timestamp(1)],
            last_heartbeat: at,
            ..renderer("gpu-1")
        }),
        changed(ChunkRecord { state: ChunkState::Used, ..retired_chunk(1, 1) }),
        changed(QuarantineRecord { confirmed: Some("x".into()), ..entry(EntryId::Chunk(1), 10) }),
    ]);
    desk.commit([changed(range(1, 0)), changed(session(1)), changed(renderer("gpu-1"))]);
    desk.commit([changed(chunk(1, 1)), changed(entry(EntryId::Chunk(1), 10))]);
    let reader = desk.reader();
    assert_eq!(reader.frame_task(&range_id(1, 0)).expect("it is read"), Some(range(1, 0)));
    assert_eq!(reader.session(&session_id(1)).expect("it is read"), Some(session(1)));
    assert_eq!(reader.renderer(&name("gpu-1")).expect("it is read"), Some(renderer("gpu-1")));
    assert_eq!(reader.chunk(1).expect("it is read"), Some(chunk(1, 1)));
    let entry_id = EntryId::Chunk(1);
    assert_eq!(reader.quarantined(&entry_id).expect("it is read"), Some(entry(entry_id, 10)));
}

fn without_description(slots: u32) -> Change {
    changed(RendererRecord { slots, description: None, ..renderer("gpu-1") })
}

fn read_renderer(desk: &Desk) -> RendererRecord {
    desk.reader().renderer(&name("gpu-1")).expect("it is read").expect("it is there")
}

fn no_description_leaves_the_description(desk: &mut Desk) {
    desk.commit([changed(renderer("gpu-1")), without_description(2)]);
    assert_eq!(read_renderer(desk), RendererRecord { slots: 2, ..renderer("gpu-1") });
    desk.commit([without_description(3), without_description(4)]);
    assert_eq!(read_renderer(desk), RendererRecord { slots: 4, ..renderer("gpu-1") });
}

fn without_body(completed_frames: u64) -> Change {
    changed(SessionRecord { completed_frames, body: None, ..session(1) })
}

fn read_session(desk: &Desk) -> SessionRecord {
    desk.reader().session(&session_id(1)).expect("it is read").expect("it is there")
}

fn no_body_leaves_the_body(desk: &mut Desk) {
    desk.commit([changed(session(1)), without_body(100)]);
    assert_eq!(read_session(desk), SessionRecord { completed_frames: 100, ..session(1) });
    desk.commit([without_body(200), without_body(300)]);
    desk.reopen();
    assert_eq!(read_session(desk), SessionRecord { completed_frames: 300, ..session(1) });
    desk.commit([changed(SessionRecord { body: None, ..session(2) })]);
    let bodiless = desk.reader().session(&session_id(2)).expect("it is read").expect("it is there");
    assert_eq!(bodiless.body, None);
}

fn a_body_and_a_description_can_be_replaced(desk: &mut Desk) {
    let other: Option<Box<str>> = Some("{}".into());
    desk.commit([changed(session(1)), changed(SessionRecord { body: other.clone(), ..session(1) })]);
    desk.commit([changed(renderer("gpu-1"))]);
    desk.commit([changed(RendererRecord { description: other.clone(), ..renderer("gpu-1") })]);
    assert_eq!((read_session(desk).body, read_renderer(desk).description), (other.clone(), other));
}

fn results(desk: &Desk) -> [Option<Box<str>>; 2] {
    let read =
        |start| desk.reader().frame_task(&range_id(1, start)).expect("it is read").expect("it is there");
    [0, 100].map(|start| read(start).result)
}

fn a_range_put_back_loses_its_result(desk: &mut Desk) {
    let completed_anew = |start| FrameTaskRecord { result: None, ..done_range(1, start, 9) };
    // Once in one batch, once over several.
    desk.commit([changed(done_range(1, 0, 5)), changed(range(1, 0)), changed(completed_anew(0))]);
    desk.commit([changed(done_range(1, 100, 5))]);
    desk.commit([changed(range(1, 100))]);
    assert_eq!(results(desk), [None, None]);
    desk.commit([changed(completed_anew(100))]);
    assert_eq!(results(desk), [None, None]);
}

fn a_completed_range_keeps_its_result(desk: &mut Desk) {
    let again = |start| FrameTaskRecord { dropped: 3, result: None, ..done_range(1, start, 9) };
    let skipped = |start| FrameTaskRecord { status: FrameTaskStatus::Failed, ..again(start) };
    desk.commit([changed(done_range(1, 0, 5)), changed(again(0)), changed(again(0))]);
    desk.commit([changed(done_range(1, 100, 5))]);
    desk.commit([changed(again(100))]);
    desk.commit([changed(skipped(100))]);
    desk.reopen();
    assert_eq!(results(desk), [done_range(1, 0, 5).result, done_range(1, 100, 5).result]);
    let read = desk.reader().frame_task(&range_id(1, 0)).expect("it is read");
    assert_eq!(read.map(|range| (range.dropped, range.ended_at)), Some((3, Some(Timestamp(9)))));
}

fn gone(id: &str) -> Change {
    Change::Frames(FrameChange::RendererGone(name(id)))
}

fn renderers(desk: &Desk) -> Vec<RendererRecord> {
    read_all(9, |page| desk.reader().renderers(page))
}

fn a_renderer_that_is_gone_is_read_no_more(desk: &mut Desk) {
    desk.commit(["gpu-1", "gpu-2"].map(|id| changed(renderer(id))));
    desk.commit([gone("gpu-1"), gone("gpu-9")]);
    desk.reopen();
    assert_eq!(renderers(desk), [renderer("gpu-2")]);
    assert_eq!(desk.load().len(), EMPTY + 1, "one worker is loaded");
}

fn a_renderer_can_come_again(desk: &mut Desk) {
    desk.commit([changed(renderer("gpu-1")), gone("gpu-1"), without_description(2)]);
    assert_eq!(read_renderer(desk), RendererRecord { slots: 2, description: None, ..renderer("gpu-1") });
    desk.commit([gone("gpu-1"), changed(renderer("gpu-1")), gone("gpu-1")]);
    assert_eq!(renderers(desk), []);
}

fn a_large_batch_of_ranges_is_kept_whole(desk: &mut Desk) {
    let granted =
        |n: u64| FrameTaskRecord { status: FrameTaskStatus::Running, ids: ids(n), ..range(1, n * 100) };
    desk.commit((0..5_000).rev().flat_map(|n| [changed(granted(n)), changed(chunk(n, 1))]));
    desk.reopen();
    let reader = desk.reader();
    let ranges = read_all(999, |page| reader.frame_tasks(&session_id(1), page));
    assert_eq!(ranges, (0..5_000).map(granted).collect::<Vec<_>>());
    let chunks = read_all(999, |page| reader.chunks(&ChunkFilter::default(), page));
    assert_eq!(chunks, (0..5_000).map(|n| chunk(n, 1)).collect::<Vec<_>>());
}

fn a_batch_of_sessions_that_cannot_be_kept_leaves_no_trace(desk: &mut Desk) {
    let farm = FarmRecord { paused: true, next_chunk: 9, next_id: 9 };
    let mut changes = before_and_after().0;
    changes.extend([changed(farm), changed(transition("gpu-1", 5)), changed(line(1, "gpu-1", 5))]);
    desk.refuse(Batch { changes, ..Batch::default() });
    let reader = desk.reader();
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    assert_eq!(reader.farm().expect("it is read"), FarmRecord::default());
    assert_eq!(reader.session(&session_id(1)).expect("it is read"), None);
    assert_eq!(reader.chunk(1).expect("it is read"), None);
    assert_eq!(reader.transitions(&name("gpu-1"), 9).expect("they are read"), []);
    assert_eq!(read_all(9, |page| reader.diagnostics(&DiagnosticFilter::default(), page)), []);
    assert_eq!(read_all(9, |page| reader.sessions(Some(SessionStatus::Running), page)), []);
}
