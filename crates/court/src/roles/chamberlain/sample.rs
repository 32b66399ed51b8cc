//! One reading of the host.

use crate::Document;

/// How much of the host is in use.
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
