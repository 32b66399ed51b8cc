//! What one command costs the engine as the fleet grows, and what a device and a live task cost memory.

use crate::{
    fleet::Fleet,
    stopwatch::{resident_bytes, time},
};
use muster_model::Handout;
use std::collections::VecDeque;

/// Pairs of commands (a task ends, its worker pulls the next) measured per size.
const PAIRS: usize = 200_000;
/// Commands in one batch, as the driver would gather them.
const BATCH: usize = 64;
const SLOTS: u32 = 20;

pub(crate) fn measure() {
    println!(
        "engine: a task ends and its worker pulls the next, {PAIRS} times; one core, changes taken every {BATCH} commands"
    );
    println!(
        "{:>9} {:>9} {:>14} {:>13} {:>10} {:>14} {:>14}",
        "devices", "workers", "commands/s", "ns/command", "vs 10k", "B/idle device", "B/live task"
    );
    let mut reference = None;
    for devices in [1_000, 10_000, 100_000, 1_000_000] {
        let row = measure_size(devices);
        if devices == 10_000 {
            reference = Some(row.nanos);
        }
        let ratio = reference.map_or("-".into(), |reference| format!("{:.2}", row.nanos / reference));
        println!(
            "{devices:>9} {:>9} {:>14.0} {:>13.0} {ratio:>10} {:>14.0} {:>14.0}",
            devices / 100,
            1e9 / row.nanos,
            row.nanos,
            row.idle_bytes,
            row.task_bytes
        );
    }
}

struct Row {
    nanos: f64,
    idle_bytes: f64,
    task_bytes: f64,
}

fn measure_size(devices: u32) -> Row {
    let before = resident_bytes();
    let mut fleet = Fleet::enrolled(devices);
    let enrolled = resident_bytes();
    for _ in 0..jobs_needed(devices) {
        fleet.submit();
    }
    fleet.settle();
    let with_jobs = resident_bytes();
    let mut held = fill(&mut fleet);
    let live: usize = held.iter().map(VecDeque::len).sum();
    let filled = resident_bytes();
    turn_over(&mut fleet, &mut held, PAIRS / 4);
    let passes = (0..3).map(|_| time(|| turn_over(&mut fleet, &mut held, PAIRS / 4)).0);
    let best = passes.min().unwrap_or_default();
    Row {
        nanos: best.as_nanos() as f64 / (PAIRS as f64 / 4.0 * 2.0),
        idle_bytes: enrolled.saturating_sub(before) as f64 / f64::from(devices),
        task_bytes: filled.saturating_sub(with_jobs) as f64 / live as f64,
    }
}

/// Enough jobs that the measurement never runs dry.
fn jobs_needed(devices: u32) -> usize {
    PAIRS / devices as usize + 2
}

fn fill(fleet: &mut Fleet) -> Vec<VecDeque<Handout>> {
    let held = (0..fleet.workers.len()).map(|worker| fleet.pull(worker, SLOTS).into()).collect();
    fleet.settle();
    held
}

/// Workers in an order that no cache foresees.
fn turn_over(fleet: &mut Fleet, held: &mut [VecDeque<Handout>], pairs: usize) {
    let mut lcg = 12_345u64;
    for pair in 0..pairs {
        lcg = lcg.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let worker = usize::try_from(lcg >> 33).unwrap_or(0) % held.len();
        if let Some(task) = held[worker].pop_front() {
            fleet.finish(worker, &task);
        }
        held[worker].extend(fleet.pull(worker, 1));
        if pair % (BATCH / 2) == 0 {
            fleet.settle();
        }
    }
}
