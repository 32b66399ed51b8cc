//! The agent's log beside the bare disk.

use crate::stopwatch::now;
use muster_spool::{Directory, Limits, Seq, Spool};
use std::{fs::File, os::unix::fs::FileExt, path::Path, time::Duration};

const PAYLOAD: usize = 300;
/// Bytes that the log adds to a payload, and those of an acknowledgement.
const RECORD: usize = 25;
const BATCHES: [usize; 3] = [1, 16, 256];
const SLICE: Duration = Duration::from_millis(100);
const PAIRS: usize = 31;

pub(crate) fn measure() {
    println!(
        "spool: entries of {PAYLOAD} bytes, each batch appended and synced, acked with the next, snapshots included; beside a plain file that gets the same bytes with one write and one fdatasync, in turns of {} ms",
        SLICE.as_millis()
    );
    for batch in BATCHES {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (mut spool, mut bare) = (spool(home.path(), batch), bare(home.path(), batch));
        let pairs: Vec<_> = (0..PAIRS).map(|_| (rate(batch, &mut spool), rate(batch, &mut bare))).collect();
        println!(
            "  batch {batch:>4}: {:>9.0} entries/s, the bare disk {:>9.0}, ratio {:.2}   (medians of {PAIRS} turns)",
            median(pairs.iter().map(|(spool, _)| *spool)),
            median(pairs.iter().map(|(_, bare)| *bare)),
            median(pairs.iter().map(|(spool, bare)| spool / bare)),
        );
    }
}

/// One batch through the log.
fn spool(home: &Path, batch: usize) -> impl FnMut() {
    let directory = Directory::open(home.join("spool")).expect("a directory");
    let (mut spool, _) = Spool::open(directory, Limits::default()).expect("a spool");
    move || {
        for _ in 0..batch {
            spool.append(&[b'p'; PAYLOAD]).expect("a payload within limits");
        }
        let Seq(last) = spool.sync().expect("a sync");
        (last + 1 - batch as u64..=last).for_each(|seq| spool.ack(Seq(seq)));
        if spool.wants_snapshot() {
            spool.snapshot(b"state").expect("a snapshot");
        }
    }
}

/// The same bytes on the bare disk.
fn bare(home: &Path, batch: usize) -> impl FnMut() {
    let file = File::create(home.join("bare")).expect("a file");
    let bytes = vec![b'p'; batch * (PAYLOAD + 2 * RECORD)];
    let mut end = 0;
    move || {
        file.write_all_at(&bytes, end).expect("a write");
        file.sync_data().expect("a sync");
        end += bytes.len() as u64;
    }
}

fn rate(batch: usize, one: &mut impl FnMut()) -> f64 {
    let (begun, mut batches) = (now(), 0);
    while begun.elapsed() < SLICE {
        one();
        batches += 1;
    }
    (batches * batch) as f64 / begun.elapsed().as_secs_f64()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
