//! From an event's file to its soldier, with nothing and with a long history behind; and how many events a second.

mod archive;
mod bare;
mod house;
mod soldier;

use crate::stopwatch::{now, percentile};
use bare::Bare;
use house::House;
use std::{path::Path, time::Duration};

const EVENTS: usize = 200;
const WARM_UP: usize = 20;
const OVER: usize = 100_000;
const AT_ONCE: usize = 2_000;

/// Measures, or is one of the soldiers.
pub(crate) fn measure(is_soldier: bool) {
    if is_soldier {
        return soldier::serve();
    }
    let (young, old) = (House::build(), House::build());
    archive::fill(old.home(), OVER);
    let (young, old) = (young.open(), old.open());
    latency(&young, &old);
    drop(old);
    throughput(&young);
}

/// The two courts take turns, so that whatever else the machine does meets both alike.
fn latency(young: &House, old: &House) {
    println!(
        "court: `muster court run`, {EVENTS} events to either of two courts, in turn and one after the other; from the rename of the event's file to the start of its soldier"
    );
    println!("  files that are over went once through the king's hands in {:.1} s", seconds(old.settle()));
    let mut spans: [Vec<Duration>; 2] = Default::default();
    for number in 0..WARM_UP + EVENTS {
        for (court, spans) in [young, old].into_iter().zip(&mut spans) {
            let span = court.time_one(&format!("evt-bench-{number}"));
            spans.extend((number >= WARM_UP).then_some(span));
        }
    }
    let bare = Bare::measure(young.home());
    let [mut young, mut old] = spans;
    let medians = [percentile(&mut young, 50), percentile(&mut old, 50)];
    row("nothing is over", &mut young, "");
    let ratio = format!("   ratio of the p50s {:.2}", seconds(medians[1]) / seconds(medians[0]));
    row("100,000 files in each directory of what is over", &mut old, &ratio);
    row("beside: the soldier alone, fork and exec", &mut bare.starts.clone(), "");
    row("beside: a file written, synced, renamed, synced", &mut bare.writes.clone(), "");
}

fn throughput(court: &House) {
    let before = Bare::measure(court.home());
    let begun = now();
    court.hand_in_at_once(AT_ONCE);
    court.wait_for_results(AT_ONCE + WARM_UP + EVENTS);
    let results = begun.elapsed();
    court.wait_until_quiet();
    let all = begun.elapsed();
    let after = Bare::measure(court.home());
    let (writes, starts) = Bare::rates([&before, &after]);
    let rate = |span: Duration| AT_ONCE as f64 / seconds(span);
    println!("court: {AT_ONCE} events at once, {} soldiers", house::SOLDIERS);
    println!("  until all results are there               {:>8.0} events/s", rate(results));
    println!("  until all is closed and people were told  {:>8.0} events/s", rate(all));
    println!(
        "  beside: files written, synced, renamed and synced by one writer {writes:>6.0}/s, {:.1} for each event",
        writes / rate(all)
    );
    println!(
        "  beside: the soldier alone, one after the other {starts:>6.0}/s, {:.1} for each event",
        starts / rate(all)
    );
}

fn row(what: &str, spans: &mut [Duration], remark: &str) {
    let [p50, p99] = [50, 99].map(|percent| seconds(percentile(spans, percent)) * 1000.0);
    println!("  {what:<48} p50 {p50:>7.2} ms   p99 {p99:>7.2} ms{remark}");
}

fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

/// What every soldier is started with.
fn soldier_command() -> [String; 3] {
    let this = std::env::current_exe().expect("this program has a path");
    let path = this.to_str().expect("a path in UTF-8 fits a configuration").to_owned();
    [path, "court".to_owned(), "--soldier".to_owned()]
}

/// What is not written by a court itself is written as anybody would (C4): whole, synced, under a name nobody reads.
fn write_synced(path: &Path, text: &str) {
    use std::io::Write;
    let mut file = std::fs::File::create_new(path).expect("a new file");
    file.write_all(text.as_bytes()).expect("a write");
    file.sync_all().expect("a sync");
}

fn sync_directory(path: &Path) {
    std::fs::File::open(path).and_then(|directory| directory.sync_all()).expect("a sync");
}
