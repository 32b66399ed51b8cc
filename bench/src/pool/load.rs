//! The same load for both: some threads hand in, as many work off, until everything is done.

use super::{Drive, PAIRS};
use crate::stopwatch::now;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// One end of a queue.
pub(super) trait Side: Send {
    /// Hands in, or works off, at most so many jobs in one request; says how many.
    fn step(&mut self, batch: usize) -> usize;
}

/// Jobs per second from the first submission to the last acknowledged result.
pub(super) fn run<P: Side + 'static, W: Side + 'static>(
    drive: Drive,
    producers: Vec<P>,
    workers: Vec<W>,
) -> f64 {
    let done = Arc::new(AtomicUsize::new(0));
    let begun = now();
    let share = drive.jobs / PAIRS;
    let producing: Vec<_> = producers
        .into_iter()
        .map(|mut producer| {
            thread::spawn(move || {
                let mut sent = 0;
                while sent < share {
                    sent += producer.step(drive.batch.min(share - sent));
                }
            })
        })
        .collect();
    let total = share * PAIRS;
    let working: Vec<_> = workers
        .into_iter()
        .map(|mut worker| {
            let done = Arc::clone(&done);
            thread::spawn(move || {
                while done.load(Ordering::Relaxed) < total {
                    done.fetch_add(worker.step(drive.batch), Ordering::Relaxed);
                }
            })
        })
        .collect();
    for thread in producing.into_iter().chain(working) {
        thread.join().expect("the load goes through");
    }
    assert_eq!(done.load(Ordering::Relaxed), total, "every job is done once");
    total as f64 / begun.elapsed().as_secs_f64()
}
