//! Conformance cases for every store, and for every store that several servers share (S18).

use crate::scene;
use muster_store::{
    Store, StoreError,
    conformance::{Fixture, cases, shared},
};
use muster_store_postgres::Stage;
use muster_tables::conformance::round_trips;
use std::thread;

struct Database(String);

impl Fixture for Database {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(scene::open(&self.0))
    }
}

fn fresh() -> Box<dyn Fixture> {
    Box::new(Database(scene::fresh()))
}

/// Several cases at a time: most of what they do is waiting for a disk.
#[test]
fn it_conforms() {
    let cases = cases();
    thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(8)) {
            scope.spawn(move || {
                for (name, case) in part {
                    println!("conformance: {name}");
                    case(fresh());
                }
            });
        }
    });
}

#[test]
fn every_record_is_read_back_as_it_was_written() {
    let store = scene::open(&scene::fresh());
    store.fill(Stage::Whole, &[], |whole| round_trips(whole).map_err(StoreError::from)).unwrap();
}

/// S18
#[test]
fn it_is_shared_as_it_must_be() {
    shared(&fresh);
}
