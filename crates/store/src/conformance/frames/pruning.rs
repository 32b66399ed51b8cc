//! Pruning deletes old records of sessions, a few at a time, and nothing else.

use super::samples::*;
use crate::{
    ChunkFilter, DiagnosticFilter, Loaded,
    conformance::{
        desk::{Desk, before, read_all},
        loaded, named,
    },
};
use muster_model::{
    Change, ChunkRecord, EntryId, FarmRecord, FrameTaskRecord, Key, QuarantineRecord, RendererRecord,
    ReplayRecord, SessionRecord, Timestamp,
};

named![
    an_old_closed_session_goes_with_all_that_is_its_own,
    young_and_open_sessions_stay,
    the_cutoff_itself_is_young_for_sessions_too,
    a_session_with_many_ranges_goes_whole,
    one_call_deletes_a_bounded_amount_of_sessions,
    old_transitions_and_diagnostics_go,
    what_nobody_looked_at_stays_in_quarantine,
    how_far_was_counted_outlives_what_was_counted,
    a_session_that_was_deleted_can_come_again,
    the_feed_is_dated_by_changes_of_sessions,
];

/// A closed session with two ranges, a retired grant, a used one and a replay.
fn commit_closed(desk: &mut Desk, number: u64, at: i64) {
    let (retired, new) = (10 * number, 10 * number + 1);
    desk.commit([
        changed(closed_session(number, at)),
        changed(done_range(number, 0, at)),
        changed(done_range(number, 100, at)),
        changed(retired_chunk(retired, number)),
        changed(chunk(new, number)),
        changed(replay(number, new)),
    ]);
}

/// Numbers of ranges, grants and replays of a session.
fn counts(desk: &Desk, number: u64) -> [usize; 3] {
    let (reader, id) = (desk.reader(), session_id(number));
    let of_session = ChunkFilter { state: None, session: Some(id.clone()) };
    [
        read_all(500, |page| reader.frame_tasks(&id, page)).len(),
        read_all(500, |page| reader.chunks(&of_session, page)).len(),
        read_all(500, |page| reader.replays(&id, page)).len(),
    ]
}

fn an_old_closed_session_goes_with_all_that_is_its_own(desk: &mut Desk) {
    for number in 1..=3 {
        commit_closed(desk, number, 10 * number.cast_signed());
    }
    desk.prune(&before(25));
    desk.reopen();
    for number in 1..=3 {
        let kept = number == 3;
        assert_eq!(counts(desk, number), if kept { [2, 2, 1] } else { [0; 3] });
        assert_eq!(desk.reader().session(&session_id(number)).expect("it is read").is_some(), kept);
        let keys = [
            Key::Session(session_id(number)),
            Key::FrameTask(range_id(number, 100)),
            Key::Chunk(10 * number),
        ];
        assert_eq!(keys.map(|key| desk.fact(key).is_some()), [kept; 3]);
    }
}

fn young_and_open_sessions_stay(desk: &mut Desk) {
    commit_closed(desk, 1, 5);
    commit_closed(desk, 2, 5_000);
    // Old by its end, but something of it may still be live.
    desk.commit([changed(SessionRecord { open: true, ..closed_session(1, 5) }), changed(session(3))]);
    desk.prune(&before(1_000));
    assert_eq!([1, 2].map(|number| counts(desk, number)), [[2, 2, 1]; 2]);
    assert_eq!(read_all(9, |page| desk.reader().sessions(None, page)).len(), 3);
}

fn the_cutoff_itself_is_young_for_sessions_too(desk: &mut Desk) {
    desk.commit([changed(closed_session(1, 99)), changed(closed_session(2, 100))]);
    desk.prune(&before(100));
    let left = read_all(9, |page| desk.reader().sessions(None, page));
    assert_eq!(left.iter().map(|session| session.seq).collect::<Vec<_>>(), [2]);
}

fn a_session_with_many_ranges_goes_whole(desk: &mut Desk) {
    desk.commit([changed(closed_session(1, 5)), changed(closed_session(2, 5_000))]);
    desk.commit((1..=1_200).flat_map(|n| {
        [
            changed(done_range(1, n, 5)),
            changed(chunk(n, 1)),
            changed(replay(1, n)),
            changed(done_range(2, n, 5)),
        ]
    }));
    desk.prune(&before(1_000));
    assert_eq!((counts(desk, 1), counts(desk, 2)), ([0; 3], [1_200, 0, 0]));
    assert_eq!(desk.reader().session(&session_id(1)).expect("it is read"), None);
}

fn one_call_deletes_a_bounded_amount_of_sessions(desk: &mut Desk) {
    desk.commit((1..=2_000).map(|number| changed(closed_session(number, 5))));
    assert!(desk.term.writer.prune(&before(1_000)).expect("old rows are deleted"), "more remains");
    let count = |desk: &Desk| read_all(500, |page| desk.reader().sessions(None, page)).len();
    let left = count(desk);
    assert!(left > 0 && left < 2_000, "{left}");
    assert!(desk.prune(&before(1_000)) > 1);
    assert_eq!(count(desk), 0);
}

fn old_transitions_and_diagnostics_go(desk: &mut Desk) {
    desk.commit((1..=1_500).flat_map(|_| [changed(transition("a", 10)), changed(line(1, "a", 10))]));
    desk.commit(
        [100, 200].into_iter().flat_map(|at| [changed(transition("a", at)), changed(line(1, "a", at))]),
    );
    desk.prune(&before(100));
    let transitions = desk.reader().transitions(&name("a"), 9).expect("they are read");
    assert_eq!(transitions, [100, 200].map(|at| transition("a", at)));
    let lines = read_all(9, |page| desk.reader().diagnostics(&DiagnosticFilter::default(), page));
    assert_eq!(lines, [200, 100].map(|at| line(1, "a", at)));
}

/// S15: nothing that waits for a person is forgotten; where there is no file, nobody need look.
fn what_nobody_looked_at_stays_in_quarantine(desk: &mut Desk) {
    let confirmed = |chunk, at| {
        let moved = QuarantineRecord { moved: true, ..entry(EntryId::Chunk(chunk), at) };
        QuarantineRecord { confirmed: Some("fine".into()), ..moved }
    };
    commit_closed(desk, 1, 5);
    desk.commit([
        changed(entry(EntryId::Chunk(1), 10)),
        changed(confirmed(3, 99)),
        changed(confirmed(4, 100)),
    ]);
    let moved = |chunk, files| QuarantineRecord { moved: true, files, ..entry(EntryId::Chunk(chunk), 10) };
    desk.commit([changed(moved(2, 3)), changed(moved(5, 0))]);
    desk.prune(&before(100));
    let left: Vec<_> =
        read_all(9, |page| desk.reader().quarantine(page)).into_iter().map(|entry| entry.id).collect();
    assert_eq!(left, [4, 2, 1].map(EntryId::Chunk));
}

/// S13: that a chunk was granted and retired long ago never makes its ids free again.
fn how_far_was_counted_outlives_what_was_counted(desk: &mut Desk) {
    let farm = FarmRecord { paused: false, next_chunk: 72, next_id: 72_000 };
    commit_closed(desk, 7, 5);
    desk.commit([changed(farm)]);
    desk.prune(&before(1_000));
    desk.reopen();
    assert_eq!(desk.reader().farm().expect("it is read"), farm);
    assert_eq!(loaded!(desk, Loaded::SessionSeq(seq) => seq), [7]);
}

fn a_session_that_was_deleted_can_come_again(desk: &mut Desk) {
    commit_closed(desk, 1, 5);
    desk.prune(&before(1_000));
    desk.commit([changed(SessionRecord { body: None, ..session(1) })]);
    let again = desk.reader().session(&session_id(1)).expect("it is read");
    assert_eq!(again, Some(SessionRecord { body: None, ..session(1) }), "nothing of the one before is left");
    assert_eq!(counts(desk, 1), [0; 3]);
}

/// The changes that say when they happened, each at a moment.
fn dated(at: i64) -> [Change; 8] {
    let when = Timestamp(at);
    [
        changed(RendererRecord { last_heartbeat: Some(when), ..renderer("a") }),
        changed(transition("a", at)),
        changed(SessionRecord { ended_at: Some(when), ..session(1) }),
        changed(FrameTaskRecord { granted_at: when, ..range(1, 0) }),
        changed(ChunkRecord { at: when, ..chunk(1, 1) }),
        changed(ReplayRecord { at: when, ..replay(1, 2) }),
        changed(entry(EntryId::Chunk(1), at)),
        changed(line(1, "a", at)),
    ]
}

fn the_feed_is_dated_by_changes_of_sessions(desk: &mut Desk) {
    let oldest = |desk: &Desk| desk.reader().feed(0, 1).expect("it is read").oldest;
    for (kind, at) in (0..).zip((1..=8).map(|kind| kind * 1_000_000)) {
        let first = 2 * kind + 1;
        let [old, young] = [at, at + 1].map(|at| dated(at).into_iter().skip(kind as usize).take(1).collect());
        desk.feed([first], old);
        desk.feed([first + 1], young);
        desk.prune(&before(at));
        assert_eq!(oldest(desk), first, "kind {kind}: it is not older than it says");
        desk.prune(&before(at + 1));
        assert_eq!(oldest(desk), first + 1, "kind {kind}: it is as old as it says");
    }
}
