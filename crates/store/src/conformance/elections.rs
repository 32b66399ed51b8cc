//! Servers that share a store agree which of them leads, and whoever does not cannot write (S18, invariant 10).
//!
//! Here the data is opened several times at once: each opening is another server.

use super::samples::*;
use crate::{
    Batch, Candidate, Election, Loaded, Standing, Store, StoreError, Term,
    conformance::{Case, Fixture, desk::before},
};
use muster_model::{Timestamp, WorkerRecord};
use std::{
    sync::{Arc, Barrier},
    thread,
};

/// Names each case after its function, which opens the data itself.
macro_rules! servers {
    ($($case:ident),* $(,)?) => {
        pub(crate) const CASES: &[(&str, Case)] =
            &[$((stringify!($case), |mut fixture| $case(fixture.as_mut()))),*];
    };
}

servers![
    at_first_nobody_leads,
    whoever_takes_the_lead_is_seen_by_all,
    a_leader_shows_life,
    of_all_who_saw_the_same_one_leads,
    a_leader_that_showed_life_meanwhile_is_not_replaced,
    a_silent_leader_is_replaced_and_told_so,
    a_replaced_leader_writes_nothing,
    whoever_resigned_is_replaced_without_a_wait,
    a_replaced_leader_resigns_nobody_else,
    a_term_taken_at_once_ends_the_leader_s,
    what_was_read_ahead_is_what_a_term_begins_with,
    every_commit_shows_in_the_count,
    an_epoch_seen_elsewhere_is_never_given_again,
    time_goes_on_where_an_earlier_term_left_it,
    the_feed_goes_on_where_an_earlier_term_left_it,
];

fn at_first_nobody_leads(fixture: &mut dyn Fixture) {
    let server = Server::open(fixture, "a");
    let Standing { epoch, leader, .. } = server.look();
    assert_eq!((epoch, leader), (0, None));
}

fn whoever_takes_the_lead_is_seen_by_all(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let term = a.take(&a.look()).expect("nobody leads");
    assert_eq!(term.epoch, 1);
    for server in [&a, &b, &Server::open(fixture, "c")] {
        let Standing { epoch, leader, connected, .. } = server.look();
        assert_eq!((epoch, leader, connected), (1, Some(a.candidate.clone()), true));
    }
}

fn a_leader_shows_life(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let term = a.take(&a.look()).expect("nobody leads");
    let mut seen = vec![b.look().renewals];
    for _ in 0..3 {
        a.election.renew(term.epoch).expect("it leads");
        seen.push(b.look().renewals);
    }
    assert!(seen.is_sorted_by(|earlier, later| earlier < later), "each sign of life is seen: {seen:?}");
    assert_eq!(b.look(), a.look(), "and looking is none");
}

fn of_all_who_saw_the_same_one_leads(fixture: &mut dyn Fixture) {
    let servers: Vec<Server> = ["a", "b", "c", "d"].map(|node| Server::open(fixture, node)).into();
    for round in 1..=10 {
        let seen = servers[0].look();
        let start = Barrier::new(servers.len());
        let takes = |server: &Server| {
            start.wait();
            server.take(&seen).map(|term| (server.candidate.clone(), term.epoch))
        };
        let leaders: Vec<_> = thread::scope(|scope| {
            let racing: Vec<_> = servers.iter().map(|server| scope.spawn(|| takes(server))).collect();
            racing.into_iter().filter_map(|take| take.join().expect("a take ends")).collect()
        });
        let [(leader, epoch)] = leaders.as_slice() else {
            panic!("round {round}: led by {leaders:?}");
        };
        assert_eq!((servers[1].look().leader.as_ref(), *epoch), (Some(leader), round));
        assert!(servers.iter().all(|server| server.take(&seen).is_none()), "what they saw is no more");
    }
}

fn a_leader_that_showed_life_meanwhile_is_not_replaced(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut term = a.take(&a.look()).expect("nobody leads");
    let seen = b.look();
    a.election.renew(term.epoch).expect("it leads");
    assert!(b.take(&seen).is_none());
    assert_eq!((b.look().epoch, b.look().leader), (1, Some(a.candidate.clone())));
    term.writer.commit(&batch(1)).expect("it leads still");
}

fn a_silent_leader_is_replaced_and_told_so(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let old = a.take(&a.look()).expect("nobody leads");
    let new = b.take(&b.look()).expect("it saw how things stand");
    assert_eq!((old.epoch, new.epoch), (1, 2));
    assert!(matches!(a.election.renew(old.epoch), Err(StoreError::Superseded)));
    assert_eq!(a.look().leader, Some(b.candidate.clone()), "its try was no sign of life");
    b.election.renew(new.epoch).expect("it leads");
}

fn a_replaced_leader_writes_nothing(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut old = a.take(&a.look()).expect("nobody leads");
    old.writer.commit(&closed(9)).expect("it leads");
    let mut new = b.take(&b.look()).expect("it saw how things stand");
    for round in 0..2 {
        for refused in [batch(1), Batch::default()] {
            assert!(matches!(old.writer.commit(&refused), Err(StoreError::Superseded)), "round {round}");
        }
        assert!(matches!(old.writer.prune(&before(100)), Err(StoreError::Superseded)), "round {round}");
        new.writer.commit(&batch(2 + round)).expect("it leads");
    }
    let job = |number| b.store.reader().job(job_id(number)).expect("it is read").is_some();
    assert_eq!([1, 2, 3, 9].map(job), [false, true, true, true]);
}

fn whoever_resigned_is_replaced_without_a_wait(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let old = a.take(&a.look()).expect("nobody leads");
    a.election.resign(old.epoch).expect("it is given back");
    assert_eq!((b.look().epoch, b.look().leader), (1, None));
    assert!(matches!(a.election.renew(old.epoch), Err(StoreError::Superseded)), "it leads no more");
    assert_eq!(b.look().leader, None);
    let new = b.take(&b.look()).expect("nobody leads");
    assert_eq!((new.epoch, b.look().leader), (2, Some(b.candidate.clone())));
}

fn a_replaced_leader_resigns_nobody_else(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let old = a.take(&a.look()).expect("nobody leads");
    let new = b.take(&b.look()).expect("it saw how things stand");
    a.election.resign(old.epoch).expect("that is somebody else's by now");
    assert_eq!(a.look().leader, Some(b.candidate.clone()));
    b.election.renew(new.epoch).expect("it leads");
}

fn a_term_taken_at_once_ends_the_leader_s(fixture: &mut dyn Fixture) {
    let a = Server::open(fixture, "a");
    let mut old = a.take(&a.look()).expect("nobody leads");
    let tool = fixture.open();
    let mut term = tool.begin_term().expect("a term begins");
    assert_eq!(term.epoch, 2);
    assert!(matches!(old.writer.commit(&batch(1)), Err(StoreError::Superseded)));
    assert!(matches!(a.election.renew(old.epoch), Err(StoreError::Superseded)));
    term.writer.commit(&batch(1)).expect("the newest term writes");
    assert_eq!(a.take(&a.look()).expect("the tool is done").epoch, 3);
}

fn what_was_read_ahead_is_what_a_term_begins_with(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut old = a.take(&a.look()).expect("nobody leads");
    old.writer.commit(&batch(1)).expect("it leads");
    let (ahead, commits) = b.preload();
    let mut new = b.take(&b.look()).expect("it saw how things stand");
    assert_eq!(new.commits, commits, "nothing was written meanwhile");
    let mut loaded = Vec::new();
    new.writer.load(&mut |record| loaded.push(text(&record))).expect("everything is loaded");
    assert_eq!(ahead, loaded);
    assert!(ahead.iter().any(|record| record.contains("Job(JobRecord")), "the job is there: {ahead:?}");
}

fn every_commit_shows_in_the_count(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut term = a.take(&a.look()).expect("nobody leads");
    let mut counts = vec![b.preload().1];
    for number in 1..=3 {
        term.writer.commit(&batch(number)).expect("it leads");
        counts.push(b.preload().1);
        a.election.renew(term.epoch).expect("it leads");
        assert_eq!(counts.last(), Some(&b.preload().1), "a sign of life changes no data");
    }
    assert!(counts.is_sorted_by(|earlier, later| earlier < later), "{counts:?}");
    let next = b.take(&b.look()).expect("it saw how things stand");
    assert_eq!(Some(&next.commits), counts.last());
    assert_eq!(a.preload().1, next.commits, "nor does a takeover");
}

fn an_epoch_seen_elsewhere_is_never_given_again(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut old = a.take(&a.look()).expect("nobody leads");
    let seen = b.look();
    let mut new = b.election.take(&seen, &b.candidate, 41).expect("the store answers").expect("it stands so");
    assert_eq!((new.epoch, a.look().epoch), (42, 42));
    assert!(matches!(old.writer.commit(&batch(1)), Err(StoreError::Superseded)));
    new.writer.commit(&batch(1)).expect("it leads");
    b.election.renew(42).expect("it leads");
    let next = a.election.take(&a.look(), &a.candidate, 7).expect("the store answers").expect("it stands so");
    assert_eq!(next.epoch, 43, "a smaller one sets nothing back");
}

fn time_goes_on_where_an_earlier_term_left_it(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut old = a.take(&a.look()).expect("nobody leads");
    let far = Timestamp(8_000_000_000_000);
    let seen = WorkerRecord { last_seen: far, ..worker("PC-01") };
    old.writer.commit(&Batch { changes: vec![changed(seen)], ..Batch::default() }).expect("it leads");
    let new = b.take(&b.look()).expect("it saw how things stand");
    assert_eq!(new.now.is_some(), old.now.is_some(), "a store has a clock or has none");
    assert!(new.now.is_none_or(|now| now >= far), "{:?}", new.now);
}

fn the_feed_goes_on_where_an_earlier_term_left_it(fixture: &mut dyn Fixture) {
    let (a, b) = (Server::open(fixture, "a"), Server::open(fixture, "b"));
    let mut old = a.take(&a.look()).expect("nobody leads");
    let feed = (1..=3).map(super::desk::entry).collect();
    old.writer.commit(&Batch { feed, ..Batch::default() }).expect("it leads");
    assert_eq!(b.take(&b.look()).expect("it saw how things stand").feed_seq, 3);
}

/// One of the servers that share the data.
struct Server {
    store: Box<dyn Store>,
    election: Arc<dyn Election>,
    candidate: Candidate,
}

impl Server {
    fn open(fixture: &mut dyn Fixture, node: &str) -> Self {
        let store = fixture.open();
        let election = store.election().expect("several servers share it");
        let candidate = Candidate { node: node.into(), address: format!("http://{node}:7000") };
        Self { store, election, candidate }
    }

    fn look(&self) -> Standing {
        self.election.look().expect("the store answers")
    }

    fn take(&self, seen: &Standing) -> Option<Term> {
        self.election.take(seen, &self.candidate, 0).expect("the store answers")
    }

    /// Live records, as text, and the number of commits in that state.
    fn preload(&self) -> (Vec<String>, u64) {
        let mut loaded = Vec::new();
        let commits = self.election.preload(&mut |record| loaded.push(text(&record)));
        (loaded, commits.expect("everything is loaded"))
    }
}

fn text(record: &Loaded) -> String {
    format!("{record:?}")
}

fn batch(number: u64) -> Batch {
    Batch { changes: vec![changed(job(number))], ..Batch::default() }
}

fn closed(number: u64) -> Batch {
    Batch { changes: vec![changed(closed_job(number, 5))], ..Batch::default() }
}
