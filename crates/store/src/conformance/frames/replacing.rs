//! A later row of sessions replaces an earlier one, but for what it leaves alone.

use super::{
    Fixture,
    desk::{Desk, EMPTY, entry as feed_entry, read_all},
    named,
    samples::*,
};
use crate::{Batch, ChunkFilter, Cursor, DiagnosticFilter};
use muster_model::{
    Change, ChunkRecord, ChunkState, EntryId, FarmRecord, FrameChange, FrameTaskRecord, FrameTaskStatus,
    QuarantineRecord, RendererRecord, RendererState, ReplayRecord, SessionRecord, SessionStatus, Timestamp,
};

named![
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

fn later_rows_of_sessions_replace_earlier_ones(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let (before, after) = before_and_after();
    desk.commit(before);
    desk.commit(after);
    assert_replaced(&desk);
    assert_replaced(&desk.reopen(fixture));
}

fn later_rows_of_sessions_replace_those_of_their_batch(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let (before, after) = before_and_after();
    desk.commit(before.into_iter().chain(after));
    assert_replaced(&desk);
    assert_replaced(&desk.reopen(fixture));
}

fn a_row_of_sessions_can_lose_what_it_had(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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

fn no_description_leaves_the_description(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(renderer("gpu-1")), without_description(2)]);
    assert_eq!(read_renderer(&desk), RendererRecord { slots: 2, ..renderer("gpu-1") });
    desk.commit([without_description(3), without_description(4)]);
    assert_eq!(read_renderer(&desk), RendererRecord { slots: 4, ..renderer("gpu-1") });
}

fn without_body(completed_frames: u64) -> Change {
    changed(SessionRecord { completed_frames, body: None, ..session(1) })
}

fn read_session(desk: &Desk) -> SessionRecord {
    desk.reader().session(&session_id(1)).expect("it is read").expect("it is there")
}

fn no_body_leaves_the_body(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(session(1)), without_body(100)]);
    assert_eq!(read_session(&desk), SessionRecord { completed_frames: 100, ..session(1) });
    desk.commit([without_body(200), without_body(300)]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(read_session(&desk), SessionRecord { completed_frames: 300, ..session(1) });
    desk.commit([changed(SessionRecord { body: None, ..session(2) })]);
    let bodiless = desk.reader().session(&session_id(2)).expect("it is read").expect("it is there");
    assert_eq!(bodiless.body, None);
}

fn a_body_and_a_description_can_be_replaced(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let other: Option<Box<str>> = Some("{}".into());
    desk.commit([changed(session(1)), changed(SessionRecord { body: other.clone(), ..session(1) })]);
    desk.commit([changed(renderer("gpu-1"))]);
    desk.commit([changed(RendererRecord { description: other.clone(), ..renderer("gpu-1") })]);
    assert_eq!((read_session(&desk).body, read_renderer(&desk).description), (other.clone(), other));
}

fn results(desk: &Desk) -> [Option<Box<str>>; 2] {
    let read =
        |start| desk.reader().frame_task(&range_id(1, start)).expect("it is read").expect("it is there");
    [0, 100].map(|start| read(start).result)
}

fn a_range_put_back_loses_its_result(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let completed_anew = |start| FrameTaskRecord { result: None, ..done_range(1, start, 9) };
    // Once in one batch, once over several.
    desk.commit([changed(done_range(1, 0, 5)), changed(range(1, 0)), changed(completed_anew(0))]);
    desk.commit([changed(done_range(1, 100, 5))]);
    desk.commit([changed(range(1, 100))]);
    assert_eq!(results(&desk), [None, None]);
    desk.commit([changed(completed_anew(100))]);
    assert_eq!(results(&desk), [None, None]);
}

fn a_completed_range_keeps_its_result(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let again = |start| FrameTaskRecord { dropped: 3, result: None, ..done_range(1, start, 9) };
    let skipped = |start| FrameTaskRecord { status: FrameTaskStatus::Failed, ..again(start) };
    desk.commit([changed(done_range(1, 0, 5)), changed(again(0)), changed(again(0))]);
    desk.commit([changed(done_range(1, 100, 5))]);
    desk.commit([changed(again(100))]);
    desk.commit([changed(skipped(100))]);
    let desk = desk.reopen(fixture);
    assert_eq!(results(&desk), [done_range(1, 0, 5).result, done_range(1, 100, 5).result]);
    let read = desk.reader().frame_task(&range_id(1, 0)).expect("it is read");
    assert_eq!(read.map(|range| (range.dropped, range.ended_at)), Some((3, Some(Timestamp(9)))));
}

fn gone(id: &str) -> Change {
    Change::Frames(FrameChange::RendererGone(name(id)))
}

fn renderers(desk: &Desk) -> Vec<RendererRecord> {
    read_all(9, |page| desk.reader().renderers(page))
}

fn a_renderer_that_is_gone_is_read_no_more(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit(["gpu-1", "gpu-2"].map(|id| changed(renderer(id))));
    desk.commit([gone("gpu-1"), gone("gpu-9")]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(renderers(&desk), [renderer("gpu-2")]);
    assert_eq!(desk.load().len(), EMPTY + 1, "one worker is loaded");
}

fn a_renderer_can_come_again(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(renderer("gpu-1")), gone("gpu-1"), without_description(2)]);
    assert_eq!(read_renderer(&desk), RendererRecord { slots: 2, description: None, ..renderer("gpu-1") });
    desk.commit([gone("gpu-1"), changed(renderer("gpu-1")), gone("gpu-1")]);
    assert_eq!(renderers(&desk), []);
}

fn a_large_batch_of_ranges_is_kept_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let granted =
        |n: u64| FrameTaskRecord { status: FrameTaskStatus::Running, ids: ids(n), ..range(1, n * 100) };
    desk.commit((0..5_000).rev().flat_map(|n| [changed(granted(n)), changed(chunk(n, 1))]));
    let desk = desk.reopen(fixture);
    let reader = desk.reader();
    let ranges = read_all(999, |page| reader.frame_tasks(&session_id(1), page));
    assert_eq!(ranges, (0..5_000).map(granted).collect::<Vec<_>>());
    let chunks = read_all(999, |page| reader.chunks(&ChunkFilter::default(), page));
    assert_eq!(chunks, (0..5_000).map(|n| chunk(n, 1)).collect::<Vec<_>>());
}

fn a_batch_of_sessions_that_cannot_be_kept_leaves_no_trace(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let farm = FarmRecord { paused: true, next_chunk: 9, next_id: 9 };
    let mut changes = before_and_after().0;
    changes.extend([changed(farm), changed(transition("gpu-1", 5)), changed(line(1, "gpu-1", 5))]);
    // A feed with a hole in it is refused.
    let batch = Batch { changes, feed: vec![feed_entry(1), feed_entry(3)], ..Batch::default() };
    assert!(desk.try_commit(&batch).is_err());
    let mut desk = desk.reopen(fixture);
    let reader = desk.reader();
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    assert_eq!(reader.farm().expect("it is read"), FarmRecord::default());
    assert_eq!(reader.session(&session_id(1)).expect("it is read"), None);
    assert_eq!(reader.chunk(1).expect("it is read"), None);
    assert_eq!(reader.transitions(&name("gpu-1"), 9).expect("they are read"), []);
    assert_eq!(read_all(9, |page| reader.diagnostics(&DiagnosticFilter::default(), page)), []);
    assert_eq!(read_all(9, |page| reader.sessions(Some(SessionStatus::Running), page)), []);
}
