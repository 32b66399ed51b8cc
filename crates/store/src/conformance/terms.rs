//! Only the newest term writes.

use super::{
    Fixture,
    desk::{Desk, EMPTY, before},
    named,
    samples::*,
};
use crate::{Batch, StoreError};

named![
    the_epoch_counts_up,
    the_epoch_counts_up_over_restarts,
    an_older_term_cannot_commit,
    an_older_term_cannot_prune,
    a_newer_term_sees_what_the_older_one_kept,
    a_term_is_told_how_far_the_feed_is,
    an_empty_batch_of_an_older_term_is_refused_too,
];

fn the_epoch_counts_up(fixture: &mut dyn Fixture) {
    let desk = Desk::open(fixture);
    let next = desk.store.begin_term().expect("a term begins");
    assert_eq!(desk.term.epoch, 1);
    assert_eq!(next.epoch, 2);
}

fn the_epoch_counts_up_over_restarts(fixture: &mut dyn Fixture) {
    let desk = Desk::open(fixture).reopen(fixture);
    assert_eq!(desk.reopen(fixture).term.epoch, 3);
}

fn an_older_term_cannot_commit(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let mut newer = desk.store.begin_term().expect("a term begins");
    let batch = Batch { changes: vec![changed(job(1))], ..Batch::default() };
    assert!(matches!(desk.try_commit(&batch), Err(StoreError::Superseded)));
    assert_eq!(desk.reader().job(job_id(1)).expect("it is read"), None);
    newer.writer.commit(&batch).expect("the newest term writes");
    assert!(matches!(desk.try_commit(&batch), Err(StoreError::Superseded)));
}

fn an_older_term_cannot_prune(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(closed_job(1, 5))]);
    let _newer = desk.store.begin_term().expect("a term begins");
    assert!(matches!(desk.term.writer.prune(&before(100)), Err(StoreError::Superseded)));
    assert!(desk.reader().job(job_id(1)).expect("it is read").is_some());
}

fn a_newer_term_sees_what_the_older_one_kept(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1))]);
    desk.term = desk.store.begin_term().expect("a term begins");
    assert_eq!(desk.load().len(), EMPTY + 1, "the job is loaded");
}

fn a_term_is_told_how_far_the_feed_is(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    assert_eq!(desk.term.feed_seq, 0);
    desk.feed(1..=3, vec![]);
    desk.feed(4..=4, vec![]);
    assert_eq!(desk.store.begin_term().expect("a term begins").feed_seq, 4);
    assert_eq!(desk.reopen(fixture).term.feed_seq, 4);
}

fn an_empty_batch_of_an_older_term_is_refused_too(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let _newer = desk.store.begin_term().expect("a term begins");
    assert!(matches!(desk.try_commit(&Batch::default()), Err(StoreError::Superseded)));
}
