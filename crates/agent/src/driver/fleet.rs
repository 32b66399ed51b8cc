//! The devices of this node, and who does what to them.

use super::StepFailure;
use super::adb::{Adb, AdbSettings};
use super::command::DeviceFile;
use super::simulated::Simulated;
use super::vendor::{self, Vendor};
use crate::Attached;
use crate::workflow::{Step, near};
use muster_model::Timestamp;
use std::{borrow::Cow, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

/// Tells the time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Source of a node's devices: `simulated:100`, `adb`, `vendor:URL` or `command:FILE` (I11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// Devices that exist in the agent only.
    Simulated {
        /// The number of the first.
        first: u32,
        /// The number.
        count: u32,
    },
    /// The adb server's.
    Adb,
    /// Those of a vendor's program at a URL.
    Vendor(String),
    /// Those that a file lists.
    Command(PathBuf),
}

/// Reason why a text names no source of devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The word before the colon is none of them.
    #[error("{word:?} is none of simulated:COUNT[@FIRST], adb, vendor:URL, command:FILE{}", meant(.near.as_deref()))]
    Unknown {
        /// The text found.
        word: String,
        /// The nearest known word.
        near: Option<String>,
    },
    /// The number of simulated devices makes no sense.
    #[error(
        "simulated:{0} is not simulated:COUNT or simulated:COUNT@FIRST, with numbers from 1 to {DEVICES_MAX}"
    )]
    Count(String),
    /// The text after the colon makes no sense.
    #[error("{0}")]
    Rest(&'static str),
}

/// The devices of this node, reachable.
#[derive(Debug)]
pub struct Fleet {
    devices: Devices,
    /// Workflows may use adb and the vendor's program whatever lists the devices.
    adb: Adb,
    vendor: Vendor,
}

#[derive(Debug)]
enum Devices {
    Simulated(Simulated),
    Adb,
    Vendor,
    Command(DeviceFile),
}

impl Fleet {
    /// Makes ready what reaches the devices of a source; speaks to nobody yet. Simulated devices take the name of their
    /// `node` and the time for what they would upload.
    #[must_use]
    pub fn new(source: DeviceSource, node: &str, now: Now) -> Self {
        let url = if let DeviceSource::Vendor(url) = &source { url.as_str() } else { vendor::DEFAULT_URL };
        let vendor = Vendor::new(url);
        let devices = match source {
            DeviceSource::Simulated { first, count } => {
                Devices::Simulated(Simulated { first, count, node: node.into(), now })
            }
            DeviceSource::Adb => Devices::Adb,
            DeviceSource::Vendor(_) => Devices::Vendor,
            DeviceSource::Command(path) => Devices::Command(DeviceFile::new(path)),
        };
        Self { devices, adb: Adb::new(AdbSettings::from_environment()), vendor }
    }

    /// The same fleet with another way to the adb server.
    #[must_use]
    pub fn with_adb(self, settings: AdbSettings) -> Self {
        Self { adb: Adb::new(settings), ..self }
    }

    /// Lists what is attached (N1b).
    ///
    /// # Errors
    /// When whoever knows does not answer; the devices are then unknown, not gone.
    pub async fn discover(&self) -> Result<Vec<Attached>, StepFailure> {
        match &self.devices {
            Devices::Simulated(simulated) => Ok(simulated.devices()),
            Devices::Adb => self.adb.discover().await,
            Devices::Vendor => self.vendor.discover().await,
            Devices::Command(file) => file.devices(),
        }
    }

    /// Pause between two looks at the attached devices.
    #[must_use]
    pub fn look_every(&self) -> Duration {
        match self.devices {
            Devices::Simulated(_) => Duration::from_secs(30),
            Devices::Adb | Devices::Vendor | Devices::Command(_) => Duration::from_secs(2),
        }
    }

    /// True if the vendor's control channel works; true where devices come from elsewhere (N8).
    #[must_use]
    pub fn vendor_ws_ok(&self) -> bool {
        !matches!(self.devices, Devices::Vendor) || self.vendor.is_connected()
    }

    /// The step as these devices need it: a device file may have a program of its own for it.
    pub(crate) fn adapted<'a>(&self, step: &'a Step) -> Result<Cow<'a, Step>, StepFailure> {
        match &self.devices {
            Devices::Command(file) => file.adapted(step),
            Devices::Simulated(_) | Devices::Adb | Devices::Vendor => Ok(Cow::Borrowed(step)),
        }
    }

    /// The simulated devices, where devices are simulated.
    pub(crate) fn simulated(&self) -> Option<&Simulated> {
        if let Devices::Simulated(simulated) = &self.devices { Some(simulated) } else { None }
    }

    pub(crate) fn adb(&self) -> &Adb {
        &self.adb
    }

    pub(crate) fn vendor(&self) -> &Vendor {
        &self.vendor
    }
}

impl FromStr for DeviceSource {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':') {
            Some(("simulated", count)) => simulated(count),
            Some(("vendor", url)) if url.starts_with("ws://") || url.starts_with("wss://") => {
                Ok(Self::Vendor(url.to_owned()))
            }
            Some(("vendor", _)) => Err(SourceError::Rest("a vendor's URL begins with ws:// or wss://")),
            Some(("command", "")) | None if text.starts_with("command") => {
                Err(SourceError::Rest("command:FILE needs a file that lists the devices"))
            }
            Some(("command", path)) => Ok(Self::Command(path.into())),
            None if text == "adb" => Ok(Self::Adb),
            None if text == "vendor" => Ok(Self::Vendor(vendor::DEFAULT_URL.to_owned())),
            None if text == "simulated" => Err(SourceError::Count(String::new())),
            _ => {
                let word = text.split(':').next().unwrap_or_default();
                let near = near(word, &["simulated", "adb", "vendor", "command"]);
                Err(SourceError::Unknown { word: word.to_owned(), near })
            }
        }
    }
}

fn simulated(text: &str) -> Result<DeviceSource, SourceError> {
    let (count, first) = text.split_once('@').unwrap_or((text, "1"));
    let number = |text: &str| {
        let number = text.parse().ok().filter(|number| (1..=DEVICES_MAX).contains(number));
        number.ok_or_else(|| SourceError::Count(text.to_owned()))
    };
    match (number(count), number(first)) {
        (Ok(count), Ok(first)) => Ok(DeviceSource::Simulated { first, count }),
        _ => Err(SourceError::Count(text.to_owned())),
    }
}

impl fmt::Display for DeviceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated { first: 1, count } => write!(f, "simulated:{count}"),
            Self::Simulated { first, count } => write!(f, "simulated:{count}@{first}"),
            Self::Adb => f.write_str("adb"),
            Self::Vendor(url) => write!(f, "vendor:{url}"),
            Self::Command(path) => write!(f, "command:{}", path.display()),
        }
    }
}

fn meant(near: Option<&str>) -> String {
    near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

const DEVICES_MAX: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(text: &str) -> Fleet {
        Fleet::new(text.parse().unwrap(), "PC-01", Arc::new(|| Timestamp(0)))
    }

    /// I11, N23: every source is read, and written as it was read.
    #[test]
    fn every_source_is_read() {
        for text in
            ["simulated:100", "simulated:100@301", "adb", "vendor:ws://10.0.0.1:1/x", "command:a b.toml"]
        {
            assert_eq!(text.parse::<DeviceSource>().unwrap().to_string(), text);
        }
        let default = DeviceSource::Vendor("ws://127.0.0.1:22222".to_owned());
        assert_eq!("vendor".parse(), Ok(default));
    }

    /// I11: a wrong source is refused in words.
    #[test]
    fn a_wrong_source_is_refused() {
        for (text, expected) in [
            (
                "simulate:5",
                "\"simulate\" is none of simulated:COUNT[@FIRST], adb, vendor:URL, command:FILE; did you mean simulated?",
            ),
            ("", "\"\" is none of simulated:COUNT[@FIRST], adb, vendor:URL, command:FILE"),
            (
                "adb:5037",
                "\"adb\" is none of simulated:COUNT[@FIRST], adb, vendor:URL, command:FILE; did you mean adb?",
            ),
            (
                "simulated",
                "simulated: is not simulated:COUNT or simulated:COUNT@FIRST, with numbers from 1 to 1000000",
            ),
            (
                "simulated:0",
                "simulated:0 is not simulated:COUNT or simulated:COUNT@FIRST, with numbers from 1 to 1000000",
            ),
            (
                "simulated:5@x",
                "simulated:5@x is not simulated:COUNT or simulated:COUNT@FIRST, with numbers from 1 to 1000000",
            ),
            ("vendor:http://x", "a vendor's URL begins with ws:// or wss://"),
            ("command", "command:FILE needs a file that lists the devices"),
            ("command:", "command:FILE needs a file that lists the devices"),
        ] {
            assert_eq!(text.parse::<DeviceSource>().unwrap_err().to_string(), expected, "{text}");
        }
    }

    /// N8: the vendor's channel is fine where nobody uses it, and not where it was never reached.
    #[tokio::test]
    async fn the_vendors_channel_counts_where_it_is_used() {
        assert!(fleet("adb").vendor_ws_ok() && fleet("simulated:1").vendor_ws_ok());
        let vendor = fleet("vendor:ws://127.0.0.1:1");
        assert!(vendor.discover().await.is_err());
        assert!(!vendor.vendor_ws_ok());
    }
}
