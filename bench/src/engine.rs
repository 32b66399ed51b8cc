//! Cost of one command as the fleet grows, and memory per device and live task.

use crate::{
    fleet::Fleet,
    stopwatch::{busy, resident_bytes},
};
use muster_model::Handout;
use std::{collections::VecDeque, process::Command, time::Duration};

/// Tasks turned over per pass: each is begun, ended, and followed by a pull for the next.
const TURNS: usize = 50_000;
const COMMANDS_PER_TURN: f64 = 3.0;
const PASSES: usize = 4;
/// Commands in one batch, as the driver would gather them.
const BATCH: usize = 64;
const SLOTS: u32 = 20;

/// Measures every size in a process of its own: memory given back by one must not serve the next.
pub(crate) fn measure(one: Option<u32>, pass: Option<u32>) {
    if let Some(devices) = pass {
        one_pass(devices);
    } else if let Some(devices) = one {
        let (idle, live) = memory(devices);
        println!("{} {idle} {live}", cost(devices).as_nanos());
    } else {
        table();
    }
}

fn table() {
    println!(
        "engine: tasks begin, end, and make room for the next; one core, {TURNS} tasks a pass, best of {PASSES}"
    );
    println!(
        "{:>9} {:>8} {:>11} {:>11} {:>7} {:>21} {:>7} {:>14} {:>12}",
        "devices",
        "workers",
        "commands/s",
        "ns/command",
        "vs 10k",
        "instructions/command",
        "vs 10k",
        "B/idle device",
        "B/live task"
    );
    let mut reference = None;
    for devices in [1_000, 10_000, 100_000, 1_000_000] {
        let [pass, idle, live] = in_a_process_of_its_own(devices);
        let nanos = pass / (TURNS as f64 * COMMANDS_PER_TURN);
        let instructions =
            instructions(devices).map_or(f64::NAN, |count| count as f64 / (TURNS as f64 * COMMANDS_PER_TURN));
        let (nanos_10k, instructions_10k) = *reference.insert(match reference {
            Some(reference) if devices > 10_000 => reference,
            _ => (nanos, instructions),
        });
        let (slower, longer) = (nanos / nanos_10k, instructions / instructions_10k);
        let workers = devices / 100;
        println!(
            "{devices:>9} {workers:>8} {:>11.0} {nanos:>11.0} {slower:>7.2} {instructions:>21.0} {longer:>7.2} {:>14} {:>12}",
            1e9 / nanos,
            bytes(devices, idle),
            bytes(devices, live)
        );
    }
}

/// Memory is asked for in pieces of megabytes: a small fleet says nothing about one device.
fn bytes(devices: u32, per_item: f64) -> String {
    if devices < 100_000 { "-".into() } else { format!("{per_item:.0}") }
}

fn in_a_process_of_its_own(devices: u32) -> [f64; 3] {
    let this = std::env::current_exe().expect("this program has a path");
    let output =
        Command::new(this).args(["engine", "--one", &devices.to_string()]).output().expect("it runs again");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(f64::NAN));
    std::array::from_fn(|_| numbers.next().unwrap_or(f64::NAN))
}

/// Instructions of one pass, counted by valgrind where it is installed: the same on every machine, however busy.
fn instructions(devices: u32) -> Option<u64> {
    let this = std::env::current_exe().ok()?;
    let count = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_pass*"])
        .arg(this)
        .args(["engine", "--pass", &devices.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&count.stderr).into_owned();
    let line = text.lines().find_map(|line| line.split_once("Collected : "))?;
    line.1.trim().parse().ok()
}

fn one_pass(devices: u32) {
    let (mut fleet, mut held) = begun(devices, 1);
    counted_pass(&mut fleet, &mut held);
}

#[inline(never)]
fn counted_pass(fleet: &mut Fleet, held: &mut [VecDeque<Handout>]) {
    turn_over(fleet, held);
}

/// Bytes per idle device and per live task.
fn memory(devices: u32) -> (f64, f64) {
    let empty = resident_bytes();
    let mut fleet = Fleet::enrolled(devices);
    let enrolled = resident_bytes();
    fleet.submit();
    let live: usize = (0..fleet.workers.len())
        .map(|worker| {
            let given = fleet.pull(worker, SLOTS).len();
            fleet.settle();
            given
        })
        .sum();
    let filled = resident_bytes();
    let per = |bytes: u64, count: f64| bytes as f64 / count;
    (per(enrolled.saturating_sub(empty), devices.into()), per(filled.saturating_sub(enrolled), live as f64))
}

/// The core's time for one pass.
fn cost(devices: u32) -> Duration {
    let (mut fleet, mut held) = begun(devices, PASSES + 1);
    turn_over(&mut fleet, &mut held);
    (0..PASSES).map(|_| busy(|| turn_over(&mut fleet, &mut held)).0).min().unwrap_or_default()
}

/// A fleet at work, with jobs for so many passes.
fn begun(devices: u32, passes: usize) -> (Fleet, Vec<VecDeque<Handout>>) {
    let mut fleet = Fleet::enrolled(devices);
    for _ in 0..TURNS * passes / devices as usize + 2 {
        fleet.submit();
    }
    let held = (0..fleet.workers.len()).map(|worker| fleet.pull(worker, SLOTS).into()).collect();
    fleet.settle();
    (fleet, held)
}

/// Every worker in its turn, in an order that no cache foresees: all get on equally fast, so no turn is idle.
fn turn_over(fleet: &mut Fleet, held: &mut [VecDeque<Handout>]) {
    const STRIDE: usize = 7919;
    for turn in 0..TURNS {
        let worker = turn * STRIDE % held.len();
        if let Some(task) = held[worker].pop_front() {
            fleet.start(worker, &task);
            fleet.finish(worker, &task);
        }
        held[worker].extend(fleet.pull(worker, 1));
        if turn % (BATCH / 3) == 0 {
            fleet.settle();
        }
    }
}
