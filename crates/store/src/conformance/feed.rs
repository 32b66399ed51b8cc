//! The feed has no gaps and can be taken up anywhere.

use super::samples::*;
use crate::{
    Batch, FeedEntry, FeedPage, StoreError,
    conformance::{
        desk::{Desk, before, entry},
        named,
    },
};
use std::sync::Arc;

named![
    an_empty_feed_begins_at_one,
    the_feed_is_read_from_every_position,
    a_page_of_the_feed_is_no_longer_than_asked_for,
    the_feed_survives_a_restart,
    a_gap_in_the_feed_is_refused,
    a_repeat_in_the_feed_is_refused,
    an_old_feed_is_deleted_from_its_front,
    the_numbers_go_on_after_everything_was_deleted,
    a_feed_out_of_order_in_time_loses_no_middle,
];

fn read(desk: &Desk, after: u64, limit: u32) -> FeedPage {
    desk.reader().feed(after, limit).expect("the feed is read")
}

fn entries(seqs: impl IntoIterator<Item = u64>) -> Vec<Arc<FeedEntry>> {
    seqs.into_iter().map(entry).collect()
}

fn an_empty_feed_begins_at_one(desk: &mut Desk) {
    assert_eq!(read(desk, 0, 10), FeedPage { entries: vec![], oldest: 1 });
    assert_eq!(read(desk, u64::MAX, 10).entries, []);
}

/// Batches of 1, 2, 3, … entries, with batches without any in between.
fn fill(desk: &mut Desk) {
    let mut next = 1;
    for size in 1..=7 {
        desk.feed(next..next + size, vec![]);
        desk.feed([], vec![changed(job(size))]);
        next += size;
    }
}

fn the_feed_is_read_from_every_position(desk: &mut Desk) {
    fill(desk);
    for after in 0..=29 {
        assert_eq!(read(desk, after, 1_000), FeedPage { entries: entries(after + 1..=28), oldest: 1 });
    }
}

fn a_page_of_the_feed_is_no_longer_than_asked_for(desk: &mut Desk) {
    fill(desk);
    for limit in [1, 2, 5, 28, 100] {
        let mut taken = Vec::new();
        loop {
            let page = read(desk, taken.len() as u64, limit);
            assert!(page.entries.len() <= limit as usize);
            if page.entries.is_empty() {
                break;
            }
            taken.extend(page.entries);
        }
        assert_eq!(taken, entries(1..=28));
    }
}

fn the_feed_survives_a_restart(desk: &mut Desk) {
    desk.feed(1..=3, vec![]);
    desk.reopen();
    desk.feed(4..=5, vec![]);
    assert_eq!(read(desk, 1, 10).entries, entries(2..=5));
}

fn refused(desk: &mut Desk, seqs: &[u64]) -> bool {
    let batch = Batch { feed: entries(seqs.iter().copied()), ..Batch::default() };
    matches!(desk.try_commit(&batch), Err(StoreError::Corrupt(_)))
}

fn a_gap_in_the_feed_is_refused(desk: &mut Desk) {
    assert!(refused(desk, &[2]));
    assert!(refused(desk, &[1, 3]));
    desk.feed([1, 2], vec![]);
    assert!(refused(desk, &[4]));
    assert_eq!(read(desk, 0, 10).entries, entries([1, 2]));
}

fn a_repeat_in_the_feed_is_refused(desk: &mut Desk) {
    desk.feed([1, 2], vec![]);
    assert!(refused(desk, &[2, 3]));
    assert!(refused(desk, &[1]));
}

fn an_old_feed_is_deleted_from_its_front(desk: &mut Desk) {
    for batch in 0..10 {
        let at = i64::try_from(batch).expect("it is small") * 100;
        desk.feed(batch * 3 + 1..=batch * 3 + 3, vec![changed(alert(1, at))]);
    }
    desk.prune(&before(400));
    let page = read(desk, 0, 1_000);
    assert_eq!(page.oldest, 13);
    assert_eq!(page.entries, entries(13..=30));
    assert_eq!(read(desk, 13, 2).entries, entries([14, 15]));
}

fn the_numbers_go_on_after_everything_was_deleted(desk: &mut Desk) {
    for seq in 1..=5 {
        desk.feed([seq], vec![changed(alert(1, 5))]);
    }
    desk.prune(&before(1_000));
    desk.reopen();
    assert_eq!(desk.term.feed_seq, 5);
    desk.feed([6], vec![]);
    let page = read(desk, 5, 10);
    assert_eq!(page.entries, entries([6]));
    assert!(page.oldest >= 5, "what is old is gone, the last perhaps excepted");
}

fn a_feed_out_of_order_in_time_loses_no_middle(desk: &mut Desk) {
    for (seq, at) in (1..).zip([10, 500, 20, 600]) {
        desk.feed([seq], vec![changed(alert(1, at))]);
    }
    desk.prune(&before(100));
    assert_eq!(read(desk, 0, 10), FeedPage { entries: entries(2..=4), oldest: 2 });
}
