//! Servers whose protocol is spoken here.

use super::{Meter, Queue, Run, process::PATIENCE};
use crate::{
    pool::{Drive, PAIRS, Side, run},
    stopwatch::now,
};
use std::{sync::mpsc, thread, time::Duration};

/// A running server that takes connections from both ends of a queue.
pub(crate) trait Broker {
    fn version(&self) -> String;
    /// The root of its processes.
    fn server(&self) -> u32;
    fn producer(&self) -> Box<dyn Side>;
    fn worker(&self, number: usize) -> Box<dyn Side>;
}

/// As many of each end as every measurement has.
pub(super) fn sides(broker: &dyn Broker) -> [Vec<Box<dyn Side>>; 2] {
    [(0..PAIRS).map(|_| broker.producer()).collect(), (0..PAIRS).map(|n| broker.worker(n)).collect()]
}

impl<B: Broker> Queue for B {
    fn version(&self) -> String {
        Broker::version(self)
    }

    fn run(&mut self, drive: Drive) -> Run {
        let [producers, workers] = sides(self);
        Meter::new(&[self.server()], &[]).watch(drive, || run(drive, producers, workers))
    }

    fn latencies(&mut self, jobs: usize) -> Vec<Duration> {
        latencies(self.producer(), self.worker(0), jobs)
    }

    fn fill(&mut self, jobs: usize) -> Vec<u32> {
        fill((0..PAIRS).map(|_| self.producer()).collect(), jobs);
        vec![self.server()]
    }
}

/// Has jobs done one after the other by a worker that waits for them: from the beginning of the submission to the
/// acknowledged completion.
pub(super) fn latencies(
    mut producer: Box<dyn Side>,
    mut worker: Box<dyn Side>,
    jobs: usize,
) -> Vec<Duration> {
    let (tell, ended) = mpsc::channel();
    let working = thread::spawn(move || {
        for _ in 0..jobs {
            while worker.step(1) == 0 {}
            tell.send(now()).expect("the producer listens");
        }
    });
    let latency = |_| {
        // Lets the worker ask for the next.
        thread::sleep(Duration::from_millis(2));
        let begun = now();
        producer.step(1);
        ended.recv_timeout(PATIENCE).expect("the job is done").duration_since(begun)
    };
    let latencies = (0..jobs).map(latency).collect();
    working.join().expect("the worker ends");
    latencies
}

/// Submits so many jobs, a hundred in a request.
pub(super) fn fill(producers: Vec<Box<dyn Side>>, jobs: usize) {
    let share = jobs / producers.len();
    thread::scope(|scope| {
        for mut producer in producers {
            scope.spawn(move || {
                let mut sent = 0;
                while sent < share {
                    sent += producer.step(100.min(share - sent));
                }
            });
        }
    });
}
