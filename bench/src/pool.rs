//! Durable jobs per second through the pool, from submission over lease to result, beside Redis streams that sync every
//! write, driven the same way in the same run.

mod load;
mod ours;
mod redis;

use crate::stopwatch::busy;
use muster_proof::{KeyPair, PublicKey, signed_bytes};
use std::thread;

pub(crate) use ours::Stage;

/// Threads that hand in jobs, and as many that work them off.
pub(crate) const PAIRS: usize = 16;
const ROUNDS: usize = 3;
/// What every job carries, ours and theirs.
pub(crate) const PAYLOAD: &str =
    r#"{"prompt":"hello","steps":20,"seed":1234567,"model":"a-model-of-some-kind"}"#;

/// What is driven: jobs in one request, and in all.
#[derive(Clone, Copy)]
pub(crate) struct Drive {
    pub(crate) batch: usize,
    pub(crate) jobs: usize,
}

pub(crate) fn measure() {
    println!(
        "pool: {PAIRS} connections hand in jobs, {PAIRS} take and finish them (signed results, verified one by one); the load runs on the same cores; median of {ROUNDS} rounds"
    );
    let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
    let signature = signature_cost();
    for drive in [Drive { batch: 1, jobs: 60_000 }, Drive { batch: 100, jobs: 400_000 }] {
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            rates[0].push(Stage::set(drive, "sqlite").rate());
            rates[1].push(Stage::set(drive, "memory").rate());
            rates[2].push(redis::rate(drive).unwrap_or(f64::NAN));
        }
        let [durable, bare, redis] = rates.map(median);
        let unsigned = 1.0 / (1.0 / durable - signature / cores).max(f64::EPSILON);
        println!(
            "  {} in one request",
            if drive.batch == 1 { "one job".into() } else { format!("{} jobs", drive.batch) }
        );
        println!("    muster, durable (SQLite, fsync before every answer)  {durable:>9.0} jobs/s");
        println!(
            "    the same server without a store                      {bare:>9.0} jobs/s   ratio {:.2}",
            durable / bare
        );
        println!(
            "    Redis streams, appendfsync always, no signatures     {redis:>9.0} jobs/s   ratio {:.2}",
            durable / redis
        );
        println!(
            "    without what signing and verifying cost ({:.0} us a job)  {unsigned:>8.0} jobs/s   ratio {:.2} (computed)",
            signature * 1e6,
            unsigned / redis
        );
    }
}

/// Seconds of one core that the signature of one job costs, the worker's and ours together.
pub(crate) fn signature_cost() -> f64 {
    const TIMES: u32 = 5_000;
    let pair = KeyPair::from_seed(&[7; 32]);
    let key: PublicKey = pair.public_key();
    let (took, valid) = busy(|| {
        (0..TIMES).all(|n| {
            let message = signed_bytes(u64::from(n), "0123456789abcdef0123456789abcdef", Some("h"));
            key.verify(&message, &pair.sign(&message))
        })
    });
    assert!(valid, "a signature verifies");
    took.as_secs_f64() / f64::from(TIMES)
}

/// The middle one.
pub(crate) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
