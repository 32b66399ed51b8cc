//! Where the adb server is, and who can start it.

use std::{path::PathBuf, time::Duration};

/// Where the adb server is, and who can start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdbSettings {
    /// The server's host; only one on this PC is ever started.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// The adb program: a path, or a name to be found on `PATH`.
    pub program: PathBuf,
    /// How long the server may take to answer, or a device to say its serial.
    pub patience: Duration,
}

impl Default for AdbSettings {
    fn default() -> Self {
        let patience = Duration::from_secs(5);
        Self { host: "127.0.0.1".to_owned(), port: 5037, program: "adb".into(), patience }
    }
}

impl AdbSettings {
    /// Takes what adb itself would: `ANDROID_ADB_SERVER_ADDRESS` and `ANDROID_ADB_SERVER_PORT`, else the defaults.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let mut settings = Self::default();
        if let Some(host) = variable("ANDROID_ADB_SERVER_ADDRESS") {
            settings.host = host;
        }
        match variable("ANDROID_ADB_SERVER_PORT").map(|text| text.parse().map_err(|_| text)) {
            Some(Ok(port)) if port > 0 => settings.port = port,
            Some(wrong) => {
                let port = settings.port;
                tracing::warn!(?wrong, port, "ANDROID_ADB_SERVER_PORT is no port: the default is used");
            }
            None => {}
        }
        settings
    }

    /// Whether the server would be on this PC.
    pub(super) fn is_here(&self) -> bool {
        let loopback = |address: std::net::IpAddr| address.is_loopback();
        self.host == "localhost" || self.host.parse().is_ok_and(loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N23
    #[test]
    fn the_server_is_where_adb_itself_would_look() {
        let read = |host: &'static str, port: &'static str| {
            AdbSettings::from_variables(move |name| match name {
                "ANDROID_ADB_SERVER_ADDRESS" => Some(host.to_owned()),
                "ANDROID_ADB_SERVER_PORT" => Some(port.to_owned()),
                _ => None,
            })
        };
        assert_eq!(AdbSettings::from_variables(|_| None), AdbSettings::default());
        assert_eq!(read("", ""), AdbSettings::default());
        let elsewhere = read("10.0.0.7", "5038");
        assert_eq!((elsewhere.host.as_str(), elsewhere.port), ("10.0.0.7", 5038));
        assert!(!elsewhere.is_here());
        for wrong in ["0", "-1", "65536", "adb"] {
            assert_eq!(read("::1", wrong).port, 5037);
        }
        assert!(
            read("::1", "").is_here() && read("localhost", "").is_here() && AdbSettings::default().is_here()
        );
    }
}
