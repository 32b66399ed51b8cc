//! The process dies before every single file operation of a story, one after the other; a restart repairs each.
//!
//! Nothing is sampled: a story is told once to count its operations, and then once for each of them, ending there. The
//! minds are the real ones, on a real directory; soldiers, people and the outlet are played. Whatever was to happen must
//! have happened exactly once at the end, whenever the death came.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod world;

use check::Findings;
use muster_court::{Fuse, Operation};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use world::{FAILURE, QUESTION, REFUSED, SLOT, Story, TWO_ENDS, World};

/// C2, C3, C4, C6, C13, C14, C15, C16, C16b: tasks that end well, with all the messages there are.
#[test]
fn ends() {
    every_crash_is_repaired(&TWO_ENDS);
}

/// C6, C16, C16b: a task that fails, is tried again, and fails.
#[test]
fn failures() {
    every_crash_is_repaired(&FAILURE);
}

/// C6, C14: a question, two answers, one resumption.
#[test]
fn questions() {
    every_crash_is_repaired(&QUESTION);
}

/// C6, C22: a slot of a schedule.
#[test]
fn slots() {
    every_crash_is_repaired(&SLOT);
}

/// C3, C6, C8, C12, C13: what is refused, what nobody wants, and a word that disagrees with its directory.
#[test]
fn refusals() {
    every_crash_is_repaired(&REFUSED);
}

/// Lets the process die before each operation of a story, and once more before some operations of the repair.
fn every_crash_is_repaired(story: &'static Story) {
    let whole = World::new(story);
    whole.live(None);
    let expected = Findings::of(&whole);
    let operations = count(story);
    for crash in 0..operations {
        let world = World::new(story);
        let fuse = Dying::before(crash);
        world.live(Some(fuse.clone()));
        assert!(fuse.is_dead(), "{}: operation {crash} of {operations} never came", story.name);
        if crash % STRIDE == 0 {
            repair_in_pieces(story, crash, &expected);
        }
        world.live(None);
        compare(story, &[crash], &expected, &Findings::of(&world));
    }
    println!("{}: {operations} crashes, all repaired", story.name);
}

/// Lets the second life die as well.
fn repair_in_pieces(story: &'static Story, crash: usize, expected: &Findings) {
    for again in (crash % STRIDE..MOST_IN_A_REPAIR).step_by(STRIDE) {
        let world = World::new(story);
        world.live(Some(Dying::before(crash)));
        world.live(Some(Dying::before(again)));
        world.live(None);
        compare(story, &[crash, again], expected, &Findings::of(&world));
    }
}

fn compare(story: &Story, crashes: &[usize], expected: &Findings, found: &Findings) {
    assert_eq!(found.faults, Vec::<String>::new(), "{}: crashes {crashes:?}", story.name);
    assert_eq!(found.made, expected.made, "{}: crashes {crashes:?}", story.name);
    // Each life may have died right after a post.
    assert!(found.repeated_posts <= crashes.len(), "{}: crashes {crashes:?}: {found:?}", story.name);
}

fn count(story: &'static Story) -> usize {
    let fuse = Dying::before(usize::MAX);
    World::new(story).live(Some(fuse.clone()));
    fuse.burnt()
}

/// A process that dies before its nth operation.
pub(crate) struct Dying {
    burnt: AtomicUsize,
    last: usize,
}

impl Dying {
    pub(crate) fn before(last: usize) -> Arc<Self> {
        Arc::new(Self { burnt: AtomicUsize::new(0), last })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.burnt() > self.last
    }

    /// How many operations were asked for.
    pub(crate) fn burnt(&self) -> usize {
        self.burnt.load(Ordering::SeqCst)
    }
}

impl Fuse for Dying {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        if self.burnt.fetch_add(1, Ordering::SeqCst) < self.last {
            return Ok(());
        }
        Err(io::Error::other("the process is dead"))
    }
}

/// A prime, so that it falls on operations of every kind.
const STRIDE: usize = 17;
const MOST_IN_A_REPAIR: usize = 100;
