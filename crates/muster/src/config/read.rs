//! Reads one setting as one type and says what it should have been when it is not. The password of a store is never shown
//! (I6).

use super::{ConfigError, Layers, LogFormat};
use muster_gateway::CoordinatorUrl;
use muster_model::{Millis, Ratio};
use std::{
    fmt::{self, Display},
    net::IpAddr,
    path::PathBuf,
    time::Duration,
};
use toml::Value;

/// Settled layers, read key by key.
pub(super) struct Reading<'a>(pub(super) &'a Layers);

impl Reading<'_> {
    pub(super) fn text(&self, key: &str) -> Result<&str, ConfigError> {
        let text = self.0.get(key).0.as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.unfit(key, "a text"))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let items = self.0.get(key).0.as_array();
        let texts =
            items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.ok_or_else(|| self.unfit(key, "a list of texts"))
    }

    /// IP addresses.
    pub(super) fn addresses(&self, key: &str) -> Result<Vec<IpAddr>, ConfigError> {
        let texts = self.texts(key)?;
        let parsed = texts
            .iter()
            .map(|text| text.parse().map_err(|_| self.unfit_as(key, "IP addresses such as 10.0.0.7", text)));
        parsed.collect()
    }

    /// Origins of pages, as browsers write them: scheme and host, no path.
    pub(super) fn origins(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let origins = self.texts(key)?;
        let is_origin = |text: &String| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', '*']))
        };
        let expected = "a list of origins such as https://dashboard.example, without a path";
        if origins.iter().all(is_origin) { Ok(origins) } else { Err(self.unfit(key, expected)) }
    }

    /// An address that others are sent to, without a slash at its end; `None` where it is left empty.
    pub(super) fn opt_url(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let text = self.0.get(key).0.as_str().map(|text| text.trim_end_matches('/'));
        let rest = |text: &str| {
            let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
        };
        match text {
            Some("") => Ok(None),
            Some(url) if rest(url) && !url.contains(['?', '#', '@']) => Ok(Some(url.to_owned())),
            _ => Err(self.unfit(key, "an address such as https://muster.example, or empty")),
        }
    }

    /// Media types without parameters; an upload is compared with them in lower case.
    pub(super) fn media_types(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        let types: Vec<String> = self.texts(key)?.iter().map(|text| text.to_ascii_lowercase()).collect();
        let is_word = |text: &str| {
            let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
            !text.is_empty() && text.bytes().all(is_fine)
        };
        let is_type =
            |text: &String| text.split_once('/').is_some_and(|(kind, form)| is_word(kind) && is_word(form));
        let expected = "a list of media types such as image/png";
        if types.iter().all(is_type) { Ok(types) } else { Err(self.unfit(key, expected)) }
    }

    pub(super) fn boolean(&self, key: &str) -> Result<bool, ConfigError> {
        self.0.get(key).0.as_bool().ok_or_else(|| self.unfit(key, "true or false"))
    }

    pub(super) fn address(&self, key: &str) -> Result<String, ConfigError> {
        let text = self.text(key)?;
        let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        let is_port = port.is_some_and(|port| port.parse::<u16>().is_ok());
        if is_port { Ok(text.to_owned()) } else { Err(self.unfit(key, "HOST:PORT, such as 127.0.0.1:7400")) }
    }

    pub(super) fn store(&self, key: &str) -> Result<StoreChoice, ConfigError> {
        let choice = self.0.get(key).0.as_str().and_then(StoreChoice::read);
        choice.ok_or_else(|| self.unfit(key, "sqlite, memory or postgres://USER@HOST/DATABASE"))
    }

    /// Address of a server; `None` if it is left empty.
    pub(super) fn opt_server(&self, key: &str) -> Result<Option<CoordinatorUrl>, ConfigError> {
        match self.0.get(key).0.as_str() {
            Some("") => Ok(None),
            text => text.and_then(|text| text.parse().ok()).map(Some).ok_or_else(|| {
                self.unfit(key, "an address such as http://10.0.0.7:7400, without a path, or empty")
            }),
        }
    }

    pub(super) fn log_format(&self, key: &str) -> Result<LogFormat, ConfigError> {
        match self.text(key)? {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(self.unfit(key, "text or json")),
        }
    }

    /// One of some words.
    pub(super) fn choice(&self, key: &str, words: &[&'static str]) -> Result<&'static str, ConfigError> {
        let text = self.text(key)?;
        let word = words.iter().find(|word| **word == text).copied();
        word.ok_or_else(|| self.unfit(key, &words.join(" or ")))
    }

    /// A path; `None` where it is left empty.
    pub(super) fn opt_path(&self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        let text = self.0.get(key).0.as_str().ok_or_else(|| self.unfit(key, "a path, or empty"))?;
        Ok(Some(text).filter(|text| !text.is_empty()).map(PathBuf::from))
    }

    /// A share of something, from 0 to 4000.
    pub(super) fn ratio(&self, key: &str) -> Result<Ratio, ConfigError> {
        let ratio = self.number(key).filter(|number| (0.0..=4000.0).contains(number)).and_then(Ratio::new);
        ratio.ok_or_else(|| self.unfit(key, "a number from 0 to 4000"))
    }

    /// A whole number of a range.
    pub(super) fn count<T>(&self, key: &str, min: T, max: T) -> Result<T, ConfigError>
    where
        T: TryFrom<i64> + PartialOrd + Display,
    {
        let number = self.0.get(key).0.as_integer().and_then(|number| T::try_from(number).ok());
        let number = number.filter(|number| (&min..=&max).contains(&number));
        number.ok_or_else(|| self.unfit(key, &format!("a whole number from {min} to {max}")))
    }

    /// A span given in seconds, within a range.
    pub(super) fn seconds(&self, key: &str, min: f64, max: f64) -> Result<Millis, ConfigError> {
        let seconds = self.number(key).filter(|seconds| (min..=max).contains(seconds));
        let seconds = seconds.ok_or_else(|| self.unfit(key, &format!("seconds from {min} to {max}")))?;
        Ok(millis(seconds))
    }

    /// As [`Self::seconds`], for what is measured by the runtime's clock.
    pub(super) fn duration(&self, key: &str, min: f64, max: f64) -> Result<Duration, ConfigError> {
        self.seconds(key, min, max).map(|span| Duration::from_millis(span.0.unsigned_abs()))
    }

    /// A span given in days: from about a minute to a hundred years.
    pub(super) fn days(&self, key: &str) -> Result<Millis, ConfigError> {
        let days = self.number(key).filter(|days| (0.001..=36_500.0).contains(days));
        days.map(|days| millis(days * 86_400.0)).ok_or_else(|| self.unfit(key, "days from 0.001 to 36500"))
    }

    /// A span given in days, where 0 switches something off: 0, or from about a tenth of a second to a hundred years.
    pub(super) fn days_or_zero(&self, key: &str) -> Result<Millis, ConfigError> {
        let is_fit = |days: &f64| *days == 0.0 || (0.000_001..=36_500.0).contains(days);
        let days = self.number(key).filter(is_fit).map(|days| millis(days * 86_400.0));
        days.ok_or_else(|| self.unfit(key, "0, or days from 0.000001 to 36500"))
    }

    #[allow(clippy::cast_precision_loss, reason = "the ranges end far below 2^52")]
    fn number(&self, key: &str) -> Option<f64> {
        match self.0.get(key).0 {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    fn unfit(&self, key: &str, expected: &str) -> ConfigError {
        self.unfit_as(key, expected, &self.0.get(key).0.to_string())
    }

    fn unfit_as(&self, key: &str, expected: &str, found: &str) -> ConfigError {
        let (origin, key, expected) = (self.0.get(key).1.clone(), key.to_owned(), expected.to_owned());
        if SECRETIVE.contains(&&*key) {
            return ConfigError::Unshown { origin, key, expected };
        }
        ConfigError::Unfit { origin, key, expected, found: found.to_owned() }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the ranges end far below 2^52")]
fn millis(seconds: f64) -> Millis {
    Millis((seconds * 1000.0).round() as i64)
}

/// Settings that hold addresses: whatever form is wrong, a password may be in it.
const SECRETIVE: [&str; 4] = ["server.store", "server.advertise", "server.public_url", "server.origins"];

/// Choice of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// In the data directory.
    Sqlite,
    /// Nowhere.
    Memory,
    /// In a database that servers share.
    Postgres(DatabaseUrl),
}

/// The address of a database. Shown, it is without its password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(String);

impl StoreChoice {
    /// Reads what a setting says; `None` where it is none of them.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "sqlite" => Some(Self::Sqlite),
            "memory" => Some(Self::Memory),
            url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Some(Self::Postgres(DatabaseUrl(url.to_owned())))
            }
            _ => None,
        }
    }
}

impl DatabaseUrl {
    /// The address itself, for where it is needed.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text as it may be shown: whatever could be a password in an address is left out, rather too much than too little.
pub(crate) fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    // A password may hold any character, an @ that was not written as %40 too.
    let (who, place) = rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
    let who = who.map_or_else(String::new, |who| match who.split_once(':') {
        Some((user, _)) => format!("{user}:…@"),
        None => format!("{who}@"),
    });
    let (place, parameters) = place.split_once('?').unwrap_or((place, ""));
    let parameters: Vec<_> = parameters.split('&').map(without_value).collect();
    let mark = if parameters == [""] { "" } else { "?" };
    format!("{scheme}://{who}{place}{mark}{}", parameters.join("&"))
}

fn without_value(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if name.contains("pass") => format!("{name}=…"),
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn refusal(text: &str) -> String {
        let mut layers = Layers::defaults();
        layers.add_toml(text, "x.toml".as_ref()).unwrap();
        Config::parse(&layers).unwrap_err().to_string()
    }

    /// I10: a value out of range names the key, the range, and where it was set.
    #[test]
    fn a_value_out_of_range_names_key_and_range() {
        let expected = "file x.toml: operations.slots must be a whole number from 1 to 10000, not 0";
        assert_eq!(refusal("operations.slots = 0"), expected);
        for text in [
            "operations.slots = 1.5",
            "operations.slots = '5'",
            "nodes.lease_s = 0",
            "nodes.lease_s = nan",
            "nodes.lease_s = -1",
            "server.public_metrics = 'yes'",
            "server.hosts = 'a'",
            "server.origins = ['dashboard.example']",
            "server.origins = ['https://dashboard.example/']",
            "server.listen = 'nowhere'",
            "server.public_url = 'muster.example'",
            "server.public_url = 'https://'",
            "server.public_url = 'https://x.example?a=b'",
            "artifacts.types = ['image']",
            "artifacts.types = ['text/plain; charset=utf-8']",
            "artifacts.size_max_bytes = 0",
            "artifacts.max_uploads = 1000",
            "server.log_format = 'xml'",
            "server.store = 'mysql'",
            "server.advertise = '10.0.0.7:7400'",
            "server.advertise = 'http://a/path'",
            "leadership.lease_ms = 0",
            "leadership.lease_ms = 0.5",
            "artifacts.root = 7",
            "retention.history_days = 0",
            "artifacts.public_url_days = -1",
            "artifacts.public_url_days = 0.0000001",
            "artifacts.public_url_days = 36501",
            "artifacts.public_url_days = '7'",
        ] {
            assert!(refusal(text).contains(text.split(' ').next().unwrap()), "{text}");
        }
    }

    /// I1, I6: what is no address is refused without repeating it, however the password got there.
    #[test]
    fn a_wrong_address_is_refused_unseen() {
        for text in [
            "server.store = 'postgress://u:hunter2@h/db'",
            "server.store = 'host=h user=u password=hunter2'",
            "server.store = 'postgres//u:hunter2@h/db'",
            "server.store = ['postgres://u:hunter2@h/db']",
            "server.store = { url = 'postgres://u:hunter2@h/db' }",
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains("server.store must be sqlite, memory or postgres://USER@HOST/DATABASE"));
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
        for text in [
            "server.advertise = 'http://u:hunter2@10.0.0.7:7400'",
            "server.advertise = ['http://u:hunter2@10.0.0.7:7400']",
            "server.public_url = 'https://u:hunter2@muster.example'",
            "server.origins = ['https://u:hunter2@muster.example/x']",
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains("such as http") && !refusal.contains("hunter2"), "{refusal}");
        }
    }

    /// I6: the password in an address is never shown, however it is written.
    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://u:hunter2@h/db", "postgres://u:…@h/db"),
            (
                "postgresql://u:hun@ter2/x@h1,h2:5433/db?sslmode=require",
                "postgresql://u:…@h1,h2:5433/db?sslmode=require",
            ),
            ("postgres://u@h/db", "postgres://u@h/db"),
            (
                "postgres:///db?host=/run&password=hunter2&user=u",
                "postgres:///db?host=/run&password=…&user=u",
            ),
            ("postgres://u:hunter2@h/db?sslpassword=hunter2", "postgres://u:…@h/db?sslpassword=…"),
            ("postgress://u:hunter2@h", "postgress://u:…@h"),
            ("postgres://u:hunter2@h/db?options=a@b", "postgres://u:…@b"),
            ("sqlite", "sqlite"),
        ] {
            assert_eq!(without_password(url), shown);
            if let Some(choice @ StoreChoice::Postgres(_)) = StoreChoice::read(url) {
                assert!(!format!("{choice:?}").contains("ter2"), "{choice:?}");
            }
        }
    }

    /// I1: three places, and nothing else.
    #[test]
    fn there_are_three_places() {
        assert_eq!(StoreChoice::read("sqlite"), Some(StoreChoice::Sqlite));
        assert_eq!(StoreChoice::read("memory"), Some(StoreChoice::Memory));
        assert!(matches!(StoreChoice::read("postgresql://h/db"), Some(StoreChoice::Postgres(_))));
        for other in ["", "Sqlite", "mysql://h/db", "postgres", "postgres:/h"] {
            assert_eq!(StoreChoice::read(other), None, "{other}");
        }
    }
}
