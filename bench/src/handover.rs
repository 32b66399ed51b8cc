//! From a freed slot to the next job in the hands of a pull that waits.

use crate::{
    connection::{Connection, callbacks, report},
    server::Server,
    stopwatch::{now, percentile},
};
use std::{fs::File, os::unix::fs::FileExt, path::Path, sync::mpsc, thread, time::Duration};

const SAMPLES: usize = 1000;
/// Bytes of a page of SQLite.
const PAGE: usize = 4096;

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(data.path(), "sqlite", &[("MUSTER_OPERATIONS__SLOTS", "1")]);
    let mut samples = collect(&server);
    let bare = bare_commit(&server);
    let mut syncs = sync_alone(data.path());
    let (p50, p99) = (percentile(&mut samples, 50), percentile(&mut samples, 99));
    println!(
        "handover: the end of a job is reported, its slot frees, a waiting pull gets the next; {SAMPLES} times, both commits durable"
    );
    println!("  p50 {:>8.2} ms   p99 {:>8.2} ms", millis(p50), millis(p99));
    println!(
        "  one durable callback alone, p50 {:>8.2} ms: the handover takes {:.2} times that",
        millis(bare),
        millis(p50) / millis(bare)
    );
    let sync = percentile(&mut syncs, 50);
    println!(
        "  one write of {PAGE} bytes and its fdatasync alone, p50 {:>8.2} ms   p99 {:>8.2} ms: the handover takes {:.2} times that",
        millis(sync),
        millis(percentile(&mut syncs, 99)),
        millis(p50) / millis(sync)
    );
}

/// Cost of the disk alone: pages appended to a file and synced one by one, on an idle server's file system.
pub(crate) fn sync_alone(directory: &Path) -> Vec<Duration> {
    let file = File::create(directory.join("synced")).expect("a file");
    let sync = |number: usize| {
        let begun = now();
        file.write_all_at(&[b'p'; PAGE], (number * PAGE) as u64).expect("a write");
        file.sync_data().expect("a sync");
        begun.elapsed()
    };
    (0..SAMPLES).map(sync).collect()
}

/// The pull waits on one connection while the job's end is reported on another.
fn collect(server: &Server) -> Vec<Duration> {
    let (mut reporter, address) = (Connection::open(server.address), server.address);
    for _ in 0..SAMPLES / 100 + 2 {
        reporter.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{}}"#);
    }
    let (give, jobs) = mpsc::channel();
    let puller = thread::spawn(move || {
        let mut connection = Connection::open(address);
        let mut ask = report("PC-01", 100, 1);
        for _ in 0..=SAMPLES {
            let answer = loop {
                let answer = connection.pull(&ask);
                ask = r#"{"node_id":"PC-01","max_jobs":1,"wait_ms":10000}"#.into();
                if answer["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()) {
                    break answer;
                }
            };
            give.send((now(), answer)).expect("the reporter listens");
        }
    });
    let (_, mut answer) = jobs.recv().expect("a first job");
    let samples = (0..SAMPLES).map(|_| {
        let [started, _, finished] = callbacks("PC-01", &answer["jobs"][0], &answer["now"]);
        reporter.post("/api/nodes/callback", &started);
        // Lets the pull reach the server, as it does in the field while the job runs.
        thread::sleep(Duration::from_millis(2));
        let freed = now();
        reporter.post("/api/nodes/callback", &finished);
        let (got, next) = jobs.recv().expect("the next job");
        answer = next;
        got.duration_since(freed)
    });
    let samples = samples.collect();
    puller.join().expect("the puller ends");
    samples
}

/// Cost of one durable callback on this machine in the same run.
fn bare_commit(server: &Server) -> Duration {
    let mut connection = Connection::open(server.address);
    let answer = connection.pull(&report("PC-02", 1, 1));
    let [_, progress, _] = callbacks("PC-02", &answer["jobs"][0], &answer["now"]);
    let mut samples: Vec<Duration> = (0..200)
        .map(|n| {
            let unique = progress.replacen("task_progress", &format!("progress-{n}-"), 1);
            let begun = now();
            connection.post("/api/nodes/callback", &unique);
            begun.elapsed()
        })
        .collect();
    percentile(&mut samples, 50)
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}
