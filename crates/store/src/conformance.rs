//! The suite every store must pass.
//!
//! A store's own tests make a [`Fixture`] and call [`all`]. Each case is one small function that says in
//! its name what must hold; each is given data of its own.

mod accounts;
mod commits;
mod counts;
mod cursors;
mod desk;
mod elections;
mod feed;
mod lists;
mod loads;
mod pruning;
mod records;
mod samples;
pub mod scenes;
mod upgrade;

/// Sessions of frames.
mod frames {
    pub(super) mod lists;
    pub(super) mod pruning;
    pub(super) mod records;
    pub(super) mod samples;
}

/// The pool.
mod pool {
    pub(super) mod lists;
    pub(super) mod records;
    pub(super) mod samples;
}

pub use upgrade::{VERSION_4_ROWS, version_4_goes_on};

use crate::Store;
use desk::loaded;

/// One place for data, empty at first.
pub trait Fixture {
    /// Opens the data: once, and again after the store opened before and all its handles were dropped.
    fn open(&mut self) -> Box<dyn Store>;
}

/// One thing every store must do; panics where it does not.
pub type Case = fn(Box<dyn Fixture>);

/// Runs every case, each on data of its own.
///
/// # Panics
/// When a store fails a case, after printing the name of the case.
pub fn all(make: &dyn Fn() -> Box<dyn Fixture>) {
    run(&cases(), make);
}

/// Runs what stores must do beyond [`all`] if several servers share them. Their [`Fixture::open`] is called again
/// while stores opened before are in use: each is another server's.
///
/// # Panics
/// As [`all`].
pub fn shared(make: &dyn Fn() -> Box<dyn Fixture>) {
    run(elections::CASES, make);
}

fn run(cases: &[(&'static str, Case)], make: &dyn Fn() -> Box<dyn Fixture>) {
    for (name, case) in cases {
        println!("conformance: {name}");
        case(make());
    }
}

/// Every case by name.
#[must_use]
pub fn cases() -> Vec<(&'static str, Case)> {
    [
        records::CASES,
        loads::CASES,
        commits::CASES,
        feed::CASES,
        lists::CASES,
        cursors::CASES,
        counts::CASES,
        pruning::CASES,
        frames::records::CASES,
        frames::lists::CASES,
        frames::pruning::CASES,
        pool::records::CASES,
        pool::lists::CASES,
        accounts::CASES,
    ]
    .concat()
}

/// Names each case after its function, which is given a store that was just opened.
macro_rules! named {
    ($($case:ident),* $(,)?) => {
        pub(crate) const CASES: &[(&str, crate::conformance::Case)] = &[
            $((stringify!($case), |fixture| $case(&mut crate::conformance::desk::Desk::open(fixture)))),*
        ];
    };
}
use named;
