//! What every store must do, and what every store that several servers share must do (S18).
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod scene;

use muster_store::{
    Store,
    conformance::{Fixture, all, shared},
};

struct Database(String);

impl Fixture for Database {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(scene::open(&self.0))
    }
}

fn fresh() -> Box<dyn Fixture> {
    Box::new(Database(scene::fresh()))
}

#[test]
fn it_conforms() {
    all(&fresh);
}

/// S18
#[test]
fn it_is_shared_as_it_must_be() {
    shared(&fresh);
}
