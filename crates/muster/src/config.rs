//! The settings: where they come from, and the types they are parsed into, once (I10).

mod environment;
mod layers;
mod read;
mod shown;
mod simulation;
mod store_choice;

pub(crate) use layers::Layers;
pub(crate) use shown::shown;
pub(crate) use simulation::PoolConfig;
pub(crate) use simulation::SimulationConfig;
pub(crate) use store_choice::{StoreChoice, without_password};

use layers::Origin;
use muster_coordinator::LeaseTimes;
use muster_dashboard::Setting;
use muster_gateway::{CoordinatorUrl, Rates};
use muster_http::HttpSettings;
use muster_model::{Millis, Settings};
use muster_nodes::ArtifactSettings;
use read::Reading;
use std::path::{Path, PathBuf};

/// Everything that can be set, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// HOST:PORT.
    pub(crate) listen: String,
    pub(crate) data: PathBuf,
    pub(crate) store: StoreChoice,
    /// Address at which other servers reach this one, if that is not where it listens.
    pub(crate) advertise: Option<CoordinatorUrl>,
    /// Leadership timeouts of servers that share a store.
    pub(crate) lease: LeaseTimes,
    pub(crate) log_format: LogFormat,
    /// Commands that may wait for the writer.
    pub(crate) queue_length: usize,
    /// Retention of ended work.
    pub(crate) history: Millis,
    pub(crate) http: HttpSettings,
    /// Rate limits.
    pub(crate) rates: Rates,
    pub(crate) artifacts: ArtifactSettings,
    /// Directory of artifacts.
    pub(crate) artifact_root: PathBuf,
    pub(crate) simulation: SimulationConfig,
    pub(crate) pool: PoolConfig,
    /// The court that is shown, if any.
    pub(crate) court: Option<PathBuf>,
    pub(crate) settings: Settings,
    /// All of it as people see it.
    pub(crate) shown: Vec<Setting>,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Reasons why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("the settings in {} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("the settings in {} are not TOML: {message}", path.display())]
    NotToml { path: PathBuf, message: String },
    #[error("{origin}: there is no setting {key}{}; `muster config` shows them all", near(.suggestion))]
    UnknownKey { origin: Origin, key: String, suggestion: Option<String> },
    #[error("{origin}: {key} must be {expected}, not {found}")]
    Unfit { origin: Origin, key: String, expected: String, found: String },
    #[error("{origin}: {key} must be {expected}; what was given may hold a password and is not shown")]
    Unshown { origin: Origin, key: String, expected: String },
}

fn near(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |suggestion| format!(" (did you mean {suggestion}?)"))
}

/// Settings given on the command line: `section.key` and the text.
pub(crate) type Flags = Vec<(&'static str, String)>;

impl Config {
    /// Parses settled layers.
    pub(crate) fn parse(layers: &Layers) -> Result<Self, ConfigError> {
        let read = Reading(layers);
        let data = PathBuf::from(read.text("server.data")?);
        Ok(Self {
            listen: read.address("server.listen")?,
            simulation: simulation::simulation_config(&read, &data)?,
            artifact_root: read.opt_path("artifacts.root")?.unwrap_or_else(|| data.join("artifacts")),
            data,
            store: read.store("server.store")?,
            advertise: read.opt_server("server.advertise")?,
            lease: LeaseTimes { lease: read.count("leadership.lease_ms", 200, 600_000).map(Millis)? },
            log_format: read.log_format("server.log_format")?,
            queue_length: read.count("server.queue_length", 1, 1_000_000)?,
            history: read.days("retention.history_days")?,
            http: door_settings(&read)?,
            rates: rates(&read)?,
            artifacts: artifact_settings(&read)?,
            pool: simulation::pool_config(&read)?,
            court: read.opt_path("court.directory")?,
            settings: rule_settings(&read)?,
            shown: shown(layers),
        })
    }
}

/// Gathers the layers: defaults, the file, the environment, the flags.
pub(crate) fn gather(file: Option<&Path>, flags: Flags) -> Result<Layers, ConfigError> {
    // Names that are not UTF-8 are not ours; a value that is not would be refused by its own check.
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())));
    let mut layers = Layers::defaults();
    if let Some(path) = file {
        layers.add_file(path)?;
    }
    layers.add_environment(variables)?;
    layers.add_flags(flags)?;
    Ok(layers)
}

fn door_settings(read: &Reading<'_>) -> Result<HttpSettings, ConfigError> {
    Ok(HttpSettings {
        body_limit_bytes: read.count("server.body_limit_bytes", 1024, 1 << 30)?,
        request_timeout: read.duration("server.request_timeout_s", 31.0, 3600.0)?,
        requests_max: read.count("server.max_requests", 1, 1_000_000)?,
        hosts: read.texts("server.hosts")?,
        origins: read.origins("server.origins")?,
        public_metrics: read.boolean("server.public_metrics")?,
        public_url: read.opt_url("server.public_url")?,
        advertised_url: None,
        trusted_proxies: read.addresses("server.trusted_proxies")?,
    })
}

fn rates(read: &Reading<'_>) -> Result<Rates, ConfigError> {
    Ok(Rates {
        per_key: read.count("server.rate_per_key", 0, 10_000_000)?,
        per_address: read.count("server.rate_per_address", 0, 10_000_000)?,
        burst: read.count("server.rate_burst", 1, 10_000_000)?,
    })
}

fn artifact_settings(read: &Reading<'_>) -> Result<ArtifactSettings, ConfigError> {
    Ok(ArtifactSettings {
        url_ttl: read.seconds("artifacts.url_ttl_s", 0.1, WEEK_S)?,
        public_url_ttl: read.days_or_zero("artifacts.public_url_days")?,
        size_max_bytes: read.count("artifacts.size_max_bytes", 1, 1 << 40)?,
        types: read.media_types("artifacts.types")?,
        uploads_max: read.count("artifacts.max_uploads", 1, 400)?,
    })
}

fn rule_settings(read: &Reading<'_>) -> Result<Settings, ConfigError> {
    Ok(Settings {
        slots: read.count("operations.slots", 1, 10_000)?,
        attempt_timeout: read.seconds("operations.attempt_timeout_s", 0.1, WEEK_S)?,
        max_attempts: read.count("operations.max_attempts", 1, 100)?,
        offline_grace: read.seconds("operations.offline_grace_s", 0.0, WEEK_S)?,
        schedule_grace: read.seconds("operations.schedule_grace_s", 0.0, WEEK_S)?,
        offline_after: read.seconds("nodes.offline_after_s", 0.1, WEEK_S)?,
        heartbeat: read.seconds("nodes.heartbeat_s", 0.1, WEEK_S)?,
        redeliver_after: read.seconds("nodes.redeliver_after_s", 0.1, WEEK_S)?,
        lease: read.seconds("nodes.lease_s", 0.1, WEEK_S)?,
        dropout_devices: read.count("nodes.dropout_devices", 1, 1_000_000)?,
        dropout_percent: read.count("nodes.dropout_percent", 1, 100)?,
        dropout_window: read.seconds("nodes.dropout_window_s", 0.1, WEEK_S)?,
        dropout_pause: read.seconds("nodes.dropout_pause_s", 0.0, WEEK_S)?,
        secret_overlap: read.seconds("nodes.secret_overlap_s", 0.0, 10.0 * WEEK_S)?,
        report_id_retention: read.days("retention.event_id_days")?,
        frames: simulation::frame_settings(read)?,
        pool: simulation::pool_settings(read)?,
        ..Settings::default()
    })
}

const WEEK_S: f64 = 604_800.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(layers: &Layers) -> Config {
        Config::parse(layers).unwrap()
    }

    /// I10: the pinned names have the pinned defaults.
    #[test]
    fn the_defaults_are_the_contracts() {
        let config = parse(&Layers::defaults());
        assert_eq!(config.settings, Settings::default());
        assert_eq!(config.http, HttpSettings::default());
        assert_eq!(config.artifacts, ArtifactSettings::default());
        assert_eq!(config.history, Millis::from_secs(30 * 86_400));
        assert_eq!(config.listen, "127.0.0.1:7400");
        assert_eq!(config.simulation.output_root, Path::new("./muster-data/output"));
        assert_eq!(config.artifact_root, Path::new("./muster-data/artifacts"));
        assert_eq!((config.lease, config.advertise), (LeaseTimes::default(), None));
    }

    /// I10: flag over environment over file over default.
    #[test]
    fn the_nearer_layer_wins() {
        let mut layers = Layers::defaults();
        layers
            .add_toml(
                "[operations]\nslots = 5\nmax_attempts = 7\n[server]\nlisten = '1.1.1.1:1'",
                "f".as_ref(),
            )
            .unwrap();
        assert_eq!((parse(&layers).settings.slots, parse(&layers).settings.max_attempts), (5, 7));
        let variables = [
            ("MUSTER_OPERATIONS__SLOTS", "6"),
            ("MUSTER_SERVER__LISTEN", "2.2.2.2:2"),
            ("MUSTER_SERVER", "x"),
        ];
        layers.add_environment(variables.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
        layers.add_flags(vec![("server.listen", "3.3.3.3:3".to_owned())]).unwrap();
        let config = parse(&layers);
        assert_eq!((config.settings.slots, config.settings.max_attempts), (6, 7));
        assert_eq!(config.listen, "3.3.3.3:3");
    }

    /// I10: fractions of a second are allowed wherever seconds are.
    #[test]
    fn half_a_second_is_a_span() {
        let mut layers = Layers::defaults();
        layers.add_toml("nodes.offline_after_s = 0.5", "f".as_ref()).unwrap();
        assert_eq!(parse(&layers).settings.offline_after, Millis(500));
    }

    /// N21, I10: links last a week by default, a fraction of a day where that is set, and 0 switches them off.
    #[test]
    fn links_last_for_days() {
        let ttl = |days: &str| {
            let mut layers = Layers::defaults();
            layers.add_toml(&format!("artifacts.public_url_days = {days}"), "f".as_ref()).unwrap();
            parse(&layers).artifacts.public_url_ttl
        };
        assert_eq!(parse(&Layers::defaults()).artifacts.public_url_ttl, Millis::from_secs(604_800));
        assert_eq!(
            [ttl("0"), ttl("0.0"), ttl("0.5"), ttl("1")].map(|ttl| ttl.0),
            [0, 0, 43_200_000, 86_400_000]
        );
    }
}
