//! `cargo xtask soak`: the long series, for a night or before a release.

use crate::{
    failure::{self, Failure},
    process::{self, Stopwatch, cargo},
};

/// Runs the series that was asked for, or all.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let series = match arguments.split_first() {
        None => {
            vec![
                Series::Kills(KILLS),
                Series::Agents(KILLS),
                Series::Frames(FRAMES),
                Series::Pool(JOBS),
                Series::Court(EVENTS),
                Series::Failovers(FAILOVERS),
                Series::Documents(DOCUMENTS),
                Series::Seeds(SEEDS),
            ]
        }
        Some((name, rest)) if name == "kills" => {
            vec![Series::Kills(failure::number(rest, "--times", KILLS)?)]
        }
        Some((name, rest)) if name == "agents" => {
            vec![Series::Agents(failure::number(rest, "--times", KILLS)?)]
        }
        Some((name, rest)) if name == "frames" => {
            vec![Series::Frames(failure::number(rest, "--frames", FRAMES)?)]
        }
        Some((name, rest)) if name == "pool" => {
            vec![Series::Pool(failure::number(rest, "--jobs", JOBS)?)]
        }
        Some((name, rest)) if name == "court" => {
            vec![Series::Court(failure::number(rest, "--events", EVENTS)?)]
        }
        Some((name, rest)) if name == "failover" => {
            vec![Series::Failovers(failure::number(rest, "--times", FAILOVERS)?)]
        }
        Some((name, rest)) if name == "documents" => {
            vec![Series::Documents(failure::number(rest, "--documents", DOCUMENTS)?)]
        }
        Some((name, rest)) if name == "seeds" => {
            vec![Series::Seeds(failure::number(rest, "--seeds", SEEDS)?)]
        }
        Some((name, _)) => return Err(Failure::Usage(format!("no series `{name}`\n\n{HELP}"))),
    };
    summarize(series.iter().map(Series::report).collect())
}

/// Closes with one line; a series that failed did not keep the next from running.
fn summarize(reports: Vec<Report>) -> Result<(), Failure> {
    let parts: Vec<&str> = reports.iter().map(|report| report.line.as_str()).collect();
    let line = format!("soak: {}", parts.join("; "));
    if reports.iter().all(|report| report.passed) {
        println!("{line}");
        return Ok(());
    }
    Err(Failure::Refused(line))
}

/// One thing done many times.
enum Series {
    Kills(u64),
    Agents(u64),
    Frames(u64),
    Pool(u64),
    Court(u64),
    Failovers(u64),
    Documents(u64),
    Seeds(u64),
}

impl Series {
    fn report(&self) -> Report {
        println!("== {}", self.name());
        let watch = Stopwatch::start();
        let outcome = self.run();
        if let Err(failure) = &outcome {
            eprintln!("{failure}");
        }
        let passed = outcome.is_ok();
        let verdict = if passed { "passed" } else { "FAILED" };
        Report { line: format!("{} {verdict} in {}", self.name(), watch.elapsed()), passed }
    }

    fn name(&self) -> String {
        match self {
            Series::Kills(times) => format!("{times} kills"),
            Series::Agents(times) => format!("{times} kills of agents and server"),
            Series::Frames(frames) => format!("{frames} frames under fire"),
            Series::Pool(jobs) => format!("{jobs} jobs of the pool under fire"),
            Series::Court(events) => format!("{events} events of a court under fire"),
            Series::Failovers(times) => format!("{times} kills of the leader"),
            Series::Documents(documents) => format!("{documents} documents beside python3"),
            Series::Seeds(seeds) => format!("{seeds} seeds"),
        }
    }

    fn run(&self) -> Result<(), Failure> {
        match self {
            Series::Kills(times) => kill(*times, &SERVER_KILL),
            Series::Agents(times) => kill(*times, &AGENT_KILL),
            Series::Frames(frames) => end_to_end(&SESSION_KILL, *frames),
            Series::Pool(jobs) => end_to_end(&POOL_WORKERS, *jobs),
            Series::Court(events) => end_to_end(&COURT_KILL, *events),
            // Alone on the machine, for how long a takeover takes is told as well.
            Series::Failovers(times) => end_to_end(&LEADER_KILL, *times),
            Series::Documents(documents) => end_to_end(&CANONICAL, *documents),
            Series::Seeds(seeds) => simulate(*seeds),
        }
    }
}

/// Result of a series.
struct Report {
    line: String,
    passed: bool,
}

/// End-to-end tests of one binary, and the variable that says how much they do.
struct EndToEnd {
    binary: &'static str,
    filter: &'static str,
    variable: &'static str,
}

fn kill(times: u64, tests: &EndToEnd) -> Result<(), Failure> {
    let mut left = times;
    while left > 0 {
        let now = left.min(KILLS_PER_LIFE);
        end_to_end(tests, now)?;
        left -= now;
    }
    Ok(())
}

/// Runs end-to-end tests with so much to do.
fn end_to_end(tests: &EndToEnd, amount: u64) -> Result<(), Failure> {
    process::run(&mut cargo(&["build", "--release", "-p", "muster"]))?;
    let arguments = ["-q", "-p", "muster-tests", "--test", tests.binary, "--", "--nocapture", tests.filter];
    let mut command = cargo(&["test"]);
    command.args(arguments).env(tests.variable, amount.to_string());
    process::run(command.env("MUSTER_BIN", process::release_binary()?))
}

fn simulate(seeds: u64) -> Result<(), Failure> {
    let run = &["run", "--release", "-p", "muster", "--", "simulate", "--seeds"];
    process::run(cargo(run).arg(seeds.to_string()))
}

const SERVER_KILL: EndToEnd =
    EndToEnd { binary: "devices", filter: "no_kill_breaks_a_promise", variable: "MUSTER_KILLS" };
const AGENT_KILL: EndToEnd =
    EndToEnd { binary: "devices", filter: "no_kill_loses_an_event", variable: "MUSTER_KILLS" };
const SESSION_KILL: EndToEnd =
    EndToEnd { binary: "frames", filter: "no_kill_loses_a_frame", variable: "MUSTER_FRAMES" };
const POOL_WORKERS: EndToEnd =
    EndToEnd { binary: "pool", filter: "no_kill_loses_a_job", variable: "MUSTER_JOBS" };
const COURT_KILL: EndToEnd =
    EndToEnd { binary: "court", filter: "no_kill_loses_or_doubles", variable: "MUSTER_EVENTS" };
const LEADER_KILL: EndToEnd =
    EndToEnd { binary: "cluster", filter: "no_kill_of_the_leader", variable: "MUSTER_FAILOVERS" };
const CANONICAL: EndToEnd =
    EndToEnd { binary: "pool", filter: "documents_by_the_line", variable: "MUSTER_DOCUMENTS" };

/// Output of `cargo xtask soak --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask soak                     all series
       cargo xtask soak kills [--times N]   kill -9 the server N times (200)
       cargo xtask soak agents [--times N]  kill -9 agents and the server N times (200)
       cargo xtask soak frames [--frames N] render N frames while workers and the server are killed (10000)
       cargo xtask soak pool [--jobs N]     work off N jobs while pool workers and the server are killed (2000)
       cargo xtask soak court [--events N]  hand N events to a court that is killed for every fiftieth (10000)
       cargo xtask soak failover [--times N] kill -9 the leader of three servers on one PostgreSQL N times under the load
                                            of all dialects, and tell how long the takeovers took (50)
       cargo xtask soak documents [--documents N]  compare N canonical documents with python3 (100000)
       cargo xtask soak seeds [--seeds N]   simulate N seeds (100000)";

const KILLS: u64 = 200;
/// Kills of one data directory; every round looks at all that was ever acknowledged in it, so a new one begins then.
const KILLS_PER_LIFE: u64 = 20;
const FRAMES: u64 = 10_000;
const JOBS: u64 = 2000;
const EVENTS: u64 = 10_000;
const FAILOVERS: u64 = 50;
const DOCUMENTS: u64 = 100_000;
const SEEDS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    fn report(line: &str, passed: bool) -> Report {
        Report { line: line.into(), passed }
    }

    #[test]
    fn one_failed_series_fails_the_whole_and_the_line_names_both() {
        let failure = summarize(vec![report("2 kills FAILED", false), report("9 seeds passed", true)]);
        assert_eq!(failure.unwrap_err().to_string(), "soak: 2 kills FAILED; 9 seeds passed");
        assert!(summarize(vec![report("9 seeds passed", true)]).is_ok());
    }

    #[test]
    fn an_unknown_series_is_a_usage_error() {
        assert!(matches!(run(&["night".into()]), Err(Failure::Usage(_))));
    }

    /// A filter that fits no test would let a soak pass that did nothing.
    #[test]
    fn every_filter_names_a_test() {
        for EndToEnd { binary, filter, .. } in
            [SERVER_KILL, AGENT_KILL, SESSION_KILL, POOL_WORKERS, COURT_KILL, LEADER_KILL, CANONICAL]
        {
            let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests").join(binary);
            let mut files = fs::read_dir(tests).unwrap().map(|entry| entry.unwrap().path());
            let names_it = |file: PathBuf| {
                fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {filter}")))
            };
            assert!(files.any(names_it), "{binary} has no test {filter}");
        }
    }
}
