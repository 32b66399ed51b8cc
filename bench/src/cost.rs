//! Cost of another process during a measurement.

use crate::stopwatch::now;
use std::{collections::BTreeMap, fs, path::Path, time::Duration};

/// Cost of a span of time.
pub(crate) struct Cost {
    pub(crate) span: Duration,
    pub(crate) cpu: Duration,
    resident_kib: u64,
}

impl Cost {
    /// Watches a process while something is done.
    pub(crate) fn watch(process: u32, meanwhile: impl FnOnce()) -> Self {
        let (begun, before) = (now(), cpu(process));
        meanwhile();
        Self { span: begun.elapsed(), cpu: cpu(process) - before, resident_kib: resident_kib(process) }
    }

    /// The memory it had in the end.
    pub(crate) fn resident_mib(&self) -> f64 {
        self.resident_kib as f64 / 1024.0
    }

    pub(crate) fn words(&self) -> String {
        let share = 100.0 * self.cpu.as_secs_f64() / self.span.as_secs_f64();
        format!("{share:>6.2} % of a core   {:>5.1} MiB resident", self.resident_mib())
    }
}

/// The time on a core of all its threads, in nanoseconds of the scheduler.
fn cpu(process: u32) -> Duration {
    cpu_by_thread(process).into_values().sum()
}

/// The time on a core of the threads of a process, by their names.
pub(crate) fn cpu_by_thread(process: u32) -> BTreeMap<String, Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("the process lives");
    let spent = |thread: fs::DirEntry| -> Option<(String, Duration)> {
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        Some((name.trim_end().to_owned(), Duration::from_nanos(stat.split(' ').next()?.parse().ok()?)))
    };
    let mut by_name = BTreeMap::new();
    for (name, time) in threads.filter_map(Result::ok).filter_map(spent) {
        *by_name.entry(name).or_default() += time;
    }
    by_name
}

/// The time on a core of a process alone, its threads that have ended included.
pub(crate) fn process_cpu(process: u32) -> Duration {
    Stat::read(&Path::new("/proc").join(process.to_string())).map_or(Duration::ZERO, |stat| stat.own)
}

/// The time on a core of processes, their descendants, and the children that these waited for.
pub(crate) fn tree_cpu(roots: &[u32]) -> Duration {
    Stat::tree(roots).iter().map(|stat| stat.own + stat.ended).sum()
}

/// Processes and their descendants.
pub(crate) fn tree(roots: &[u32]) -> Vec<u32> {
    Stat::tree(roots).iter().map(|stat| stat.id).collect()
}

/// Memory of processes and their descendants in MiB; what they share counts once.
pub(crate) fn tree_mib(roots: &[u32]) -> f64 {
    let proportional_kib = |id: u32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    tree(roots).into_iter().filter_map(proportional_kib).sum::<u64>() as f64 / 1024.0
}

/// Values from `/proc/ID/stat`.
struct Stat {
    id: u32,
    parent: u32,
    own: Duration,
    /// Spent by children that it waited for.
    ended: Duration,
}

impl Stat {
    fn tree(roots: &[u32]) -> Vec<Self> {
        let processes = fs::read_dir("/proc").expect("Linux tells of processes").filter_map(Result::ok);
        let stats = processes.filter_map(|process| Self::read(&process.path()));
        let (mut tree, mut others): (Vec<Self>, Vec<Self>) = stats.partition(|stat| roots.contains(&stat.id));
        let mut place = 0;
        while let Some(parent) = tree.get(place).map(|stat| stat.id) {
            let (children, rest) = others.into_iter().partition(|stat| stat.parent == parent);
            tree.extend::<Vec<Self>>(children);
            (others, place) = (rest, place + 1);
        }
        tree
    }

    fn read(process: &Path) -> Option<Self> {
        let text = fs::read_to_string(process.join("stat")).ok()?;
        // The name between the parentheses may hold anything.
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
        // In the program, and in the kernel on its behalf.
        let time = |place: usize| Some(TICK * u32::try_from(ticks(place)? + ticks(place + 1)?).ok()?);
        let id = process.file_name()?.to_str()?.parse().ok()?;
        Some(Self { id, parent: fields.get(1)?.parse().ok()?, own: time(11)?, ended: time(13)? })
    }
}

fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}

/// The unit of `/proc/ID/stat`, the same on every Linux there is today.
const TICK: Duration = Duration::from_millis(10);
