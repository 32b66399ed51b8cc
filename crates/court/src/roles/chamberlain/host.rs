//! Readings of the host: three files of `/proc` and the court's file system, instead of a crate for all systems there are.

use crate::Document;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A reading of the host: percentages in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Of the processors' time since the last reading.
    pub cpu_percent: f64,
    /// Of the memory, as far as it cannot be had at once.
    pub memory_percent: f64,
    /// Of the file system that the court lies on.
    pub disk_percent: f64,
    /// Processes that run or wait to, over the last minute.
    pub load: Option<f64>,
}

impl Sample {
    /// The scarcest of the three.
    #[must_use]
    pub fn highest(&self) -> f64 {
        self.cpu_percent.max(self.memory_percent).max(self.disk_percent)
    }

    /// The reading as it stands in `state/resources.json`.
    #[must_use]
    pub(super) fn document(&self) -> Document {
        let mut document = Document::new();
        document
            .set_raw("cpu_percent", format!("{:.1}", self.cpu_percent))
            .set_raw("memory_percent", format!("{:.1}", self.memory_percent))
            .set_raw("disk_percent", format!("{:.1}", self.disk_percent));
        if let Some(load) = self.load {
            document.set_raw("load", format!("{load:.2}"));
        }
        document
    }
}

/// Reads the host; remembers the last reading of the processors.
#[derive(Debug)]
pub(super) struct Senses {
    home: PathBuf,
    times: CpuTimes,
}

/// The reason why the host cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SenseError {
    /// The system refused.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// The reason.
        error: io::Error,
    },
    /// It reads otherwise than Linux writes it.
    #[error("{0} is not as Linux writes it")]
    Strange(&'static str),
}

/// Processor time since the host started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTimes {
    busy: u64,
    total: u64,
}

impl Senses {
    pub(super) fn new(home: &Path) -> Result<Self, SenseError> {
        Ok(Self { home: home.into(), times: CpuTimes::read()? })
    }

    /// Reads the host; the processors' part is what they did since the last reading.
    pub(super) fn sample(&mut self) -> Result<Sample, SenseError> {
        let times = CpuTimes::read()?;
        let cpu_percent = times.percent_since(self.times);
        self.times = times;
        let memory_percent = memory(&text(MEMORY)?).ok_or(SenseError::Strange(MEMORY))?;
        let load = text(LOAD).ok().and_then(|text| text.split(' ').next()?.parse().ok());
        Ok(Sample { cpu_percent, memory_percent, disk_percent: disk(&self.home)?, load })
    }
}

impl CpuTimes {
    fn read() -> Result<Self, SenseError> {
        Self::parse(&text(CPU)?).ok_or(SenseError::Strange(CPU))
    }

    /// Reads `cpu  user nice system idle iowait irq softirq steal …`; what guests use is in `user` already.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks = line.split_whitespace().take(8).map(|ticks| ticks.parse().ok());
        let ticks: Vec<u64> = ticks.collect::<Option<_>>()?;
        let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
        let total: u64 = ticks.iter().sum();
        Some(Self { busy: total - idle, total })
    }

    fn percent_since(self, earlier: Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy);
        percent(busy, self.total.saturating_sub(earlier.total))
    }
}

/// Memory that could not be had without swapping.
fn memory(text: &str) -> Option<f64> {
    let amount = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let (total, available) = (amount("MemTotal:")?, amount("MemAvailable:")?);
    Some(percent(total.saturating_sub(available), total))
}

/// As `df` counts: blocks that only root may take are neither used nor free.
fn disk(home: &Path) -> Result<f64, SenseError> {
    let unreadable = |error: rustix::io::Errno| SenseError::Unreadable {
        path: home.display().to_string(),
        error: error.into(),
    };
    let system = rustix::fs::statvfs(home).map_err(unreadable)?;
    let used = system.f_blocks.saturating_sub(system.f_bfree);
    Ok(percent(used, used + system.f_bavail))
}

#[allow(clippy::cast_precision_loss, reason = "a percentage needs no more than 52 bits")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 100.0 / whole as f64).min(100.0) }
}

fn text(path: &str) -> Result<String, SenseError> {
    fs::read_to_string(path).map_err(|error| SenseError::Unreadable { path: path.to_owned(), error })
}

const CPU: &str = "/proc/stat";
const MEMORY: &str = "/proc/meminfo";
const LOAD: &str = "/proc/loadavg";

#[cfg(test)]
mod tests {
    use super::*;

    /// C19: CPU between two readings, memory by what is available, disk of the court's file system.
    #[test]
    fn the_host_is_read_as_linux_writes_it() {
        let earlier = CpuTimes::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3 4\n").unwrap();
        let later = CpuTimes::parse("cpu  160 0 65 820 55 0 0 0 0 0\n").unwrap();
        assert_eq!(later.percent_since(earlier), 75.0);
        assert_eq!(earlier.percent_since(earlier), 0.0);
        assert_eq!(memory("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"), Some(75.0));
        assert_eq!(CpuTimes::parse("cpu  a b\n"), None);
        assert_eq!(memory("MemTotal: 1000 kB\n"), None);
        let sample = Senses::new(Path::new("/")).unwrap().sample().unwrap();
        for value in [sample.cpu_percent, sample.memory_percent, sample.disk_percent] {
            assert!((0.0..=100.0).contains(&value), "{sample:?}");
        }
    }
}
