//! The settings: where they come from, and the types they are parsed into, once (I10).

mod layers;
mod read;

pub(crate) use layers::Layers;
pub(crate) use read::{StoreChoice, without_password};

use clap::ValueEnum;
use layers::Origin;
use muster_accounts::AccountSettings;
use muster_coordinator::LeaseTimes;
use muster_dashboard::Setting;
use muster_gateway::{CoordinatorUrl, Rates};
use muster_http::HttpSettings;
use muster_model::{FrameSettings, Millis, PoolSettings, Rebind, Settings};
use muster_nodes::ArtifactSettings;
use muster_simulation::SimulationSettings;
use read::Reading;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
            simulation: simulation_config(&read, &data)?,
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
            pool: pool_config(&read)?,
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
        frames: frame_settings(read)?,
        pool: pool_settings(read)?,
        ..Settings::default()
    })
}

const WEEK_S: f64 = 604_800.0;

/// All settings by name.
pub(crate) fn shown(layers: &Layers) -> Vec<Setting> {
    let defaults = Layers::defaults();
    let setting = |(name, value, origin): (&str, &toml::Value, &Origin)| Setting {
        name: name.to_owned(),
        value: show(value),
        from: origin.to_string(),
        default: show(defaults.get(name).0),
    };
    layers.iter().map(setting).collect()
}

/// A value without the password that the address of a database may hold.
fn show(value: &toml::Value) -> Value {
    match value {
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(flag) => json!(flag),
        toml::Value::Array(items) => items.iter().map(show).collect(),
        toml::Value::String(text) => json!(without_password(text)),
        other => json!(other.to_string()),
    }
}

/// Settings of the section `simulation` that are not for the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SimulationConfig {
    /// Directory that sessions write to.
    pub(crate) output_root: PathBuf,
    /// Interval between checkpoints.
    pub(crate) checkpoint_interval: Duration,
    pub(crate) routes: SimulationSettings,
}

/// Reads what is not for the rules; `data` is the data directory.
fn simulation_config(read: &Reading<'_>, data: &Path) -> Result<SimulationConfig, ConfigError> {
    let output_root = read.opt_path("simulation.output_root")?.unwrap_or_else(|| data.join("output"));
    Ok(SimulationConfig {
        output_root,
        checkpoint_interval: read.duration("simulation.checkpoint_interval_s", 0.1, WEEK_S)?,
        routes: SimulationSettings {
            endpoint_allow: read.texts("simulation.endpoint_allow")?,
            assemble: read.boolean("simulation.assemble")?,
        },
    })
}

/// Reads what the rules consult.
fn frame_settings(read: &Reading<'_>) -> Result<FrameSettings, ConfigError> {
    let millis = |key: &str| read.count(key, 10, 3_600_000).map(Millis);
    Ok(FrameSettings {
        heartbeat: millis("simulation.heartbeat_ms")?,
        misses_until_lost: read.count("simulation.misses_until_lost", 1, 1000)?,
        degraded_ratio: read.ratio("simulation.degraded_queue_ratio")?,
        rtt_max: millis("simulation.rtt_max_ms")?,
        degraded_recovery: read.seconds("simulation.degraded_recovery_s", 0.0, WEEK_S)?,
        quarantine_after: read.count("simulation.quarantine_after", 1, 1000)?,
        quarantine_window: read.seconds("simulation.quarantine_window_s", 0.1, WEEK_S)?,
        split_after: read.count("simulation.split_after", 1, 1000)?,
        max_attempts: read.count("simulation.max_attempts", 1, 1000)?,
        poison_workers: read.count("simulation.poison_workers", 1, 1000)?,
        chunk_size: read.count("simulation.chunk_size", 2, 1 << 62)?,
        rebind: match read.choice("simulation.rebind", &["reassign", "resume"])? {
            "resume" => Rebind::Resume,
            _ => Rebind::Reassign,
        },
        stall: read.seconds("simulation.stall_s", 1.0, WEEK_S)?,
        ..FrameSettings::default()
    })
}

/// Settings of the section `pool` that are not for the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolConfig {
    pub(crate) accounts: AccountSettings,
    /// Reads the old name of `last_seen_at` where the new one is missing (P12).
    pub(crate) read_last_heartbeat_at: bool,
}

/// Reads what is not for the rules.
fn pool_config(read: &Reading<'_>) -> Result<PoolConfig, ConfigError> {
    Ok(PoolConfig {
        accounts: AccountSettings { token_ttl: read.seconds("pool.token_ttl_s", 1.0, 10.0 * WEEK_S)? },
        read_last_heartbeat_at: read.boolean("pool.read_last_heartbeat_at")?,
    })
}

/// Reads what the rules consult.
fn pool_settings(read: &Reading<'_>) -> Result<PoolSettings, ConfigError> {
    Ok(PoolSettings {
        offline_after: read.seconds("pool.offline_after_s", 0.1, WEEK_S)?,
        lease: read.seconds("pool.lease_s", 0.1, WEEK_S)?,
        max_attempts: read.count("pool.max_attempts", 1, 60)?,
        ban_after: read.count("pool.ban_after", 1, 1_000_000)?,
        waiting_max: read.count("pool.open_jobs_max", 1, 1 << 40)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Millis, Ratio};

    fn settled(layers: &Layers) -> Config {
        Config::parse(layers).unwrap()
    }

    /// I10: the pinned names have the pinned defaults.
    #[test]
    fn the_defaults_are_the_contracts() {
        let config = settled(&Layers::defaults());
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
        assert_eq!((settled(&layers).settings.slots, settled(&layers).settings.max_attempts), (5, 7));
        let variables = [
            ("MUSTER_OPERATIONS__SLOTS", "6"),
            ("MUSTER_SERVER__LISTEN", "2.2.2.2:2"),
            ("MUSTER_SERVER", "x"),
        ];
        layers.add_environment(variables.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap();
        layers.add_flags(vec![("server.listen", "3.3.3.3:3".to_owned())]).unwrap();
        let config = settled(&layers);
        assert_eq!((config.settings.slots, config.settings.max_attempts), (6, 7));
        assert_eq!(config.listen, "3.3.3.3:3");
    }

    /// I10: fractions of a second are allowed wherever seconds are.
    #[test]
    fn half_a_second_is_a_span() {
        let mut layers = Layers::defaults();
        layers.add_toml("nodes.offline_after_s = 0.5", "f".as_ref()).unwrap();
        assert_eq!(settled(&layers).settings.offline_after, Millis(500));
    }

    /// N21, I10: links last a week by default, a fraction of a day where that is set, and 0 switches them off.
    #[test]
    fn links_last_for_days() {
        let ttl = |days: &str| {
            let mut layers = Layers::defaults();
            layers.add_toml(&format!("artifacts.public_url_days = {days}"), "f".as_ref()).unwrap();
            settled(&layers).artifacts.public_url_ttl
        };
        assert_eq!(settled(&Layers::defaults()).artifacts.public_url_ttl, Millis::from_secs(604_800));
        assert_eq!(
            [ttl("0"), ttl("0.0"), ttl("0.5"), ttl("1")].map(|ttl| ttl.0),
            [0, 0, 43_200_000, 86_400_000]
        );
    }

    /// I10, I6: each value says where it came from and what it would be otherwise; a password is not shown.
    #[test]
    fn each_value_says_where_it_came_from() {
        let mut layers = Layers::defaults();
        layers.add_environment([("MUSTER_NODES__LEASE_S".to_owned(), "0.5".to_owned())]).unwrap();
        layers.add_flags(vec![("server.store", "postgres://u:hunter2@h/db".to_owned())]).unwrap();
        let settings = shown(&layers);
        let named = |name: &str| settings.iter().find(|setting| setting.name == name).unwrap();
        let lease = named("nodes.lease_s");
        assert_eq!((&lease.value, &lease.default), (&json!(0.5), &json!(300)));
        assert_eq!(lease.from, "environment MUSTER_NODES__LEASE_S");
        assert_eq!(
            (&named("operations.slots").value, named("operations.slots").from.as_str()),
            (&json!(20), "default")
        );
        assert_eq!(named("server.store").from, "flag --store");
        assert_eq!(settings.len(), layers.iter().count());
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut layers = Layers::defaults();
        layers.add_toml(text, "x.toml".as_ref())?;
        Config::parse(&layers)
    }

    /// S8, S12, S19, S20, S26b, S26c: every choice of the contract that is a setting can be set.
    #[test]
    fn every_choice_is_a_setting() {
        let config = parse(
        "[simulation]\nheartbeat_ms = 100\nmisses_until_lost = 5\nchunk_size = 10\nrebind = 'resume'\n\
         quarantine_after = 7\ndegraded_recovery_s = 1\nquarantine_window_s = 60\nsplit_after = 3\nmax_attempts = 2\n\
         checkpoint_interval_s = 0.5\nstall_s = 5\nrtt_max_ms = 50\ndegraded_queue_ratio = 0.5\n\
         poison_workers = 2\nassemble = false\nendpoint_allow = ['gpu-7.lab']\noutput_root = '/srv/out'",
    )
    .unwrap();
        let expected = FrameSettings {
            heartbeat: Millis(100),
            misses_until_lost: 5,
            degraded_ratio: Ratio(500_000),
            rtt_max: Millis(50),
            degraded_recovery: Millis(1000),
            quarantine_after: 7,
            quarantine_window: Millis(60_000),
            split_after: 3,
            max_attempts: 2,
            poison_workers: 2,
            chunk_size: 10,
            rebind: Rebind::Resume,
            stall: Millis(5000),
            ..FrameSettings::default()
        };
        assert_eq!(config.settings.frames, expected);
        assert_eq!(config.simulation.output_root, Path::new("/srv/out"));
        assert_eq!(config.simulation.checkpoint_interval, Duration::from_millis(500));
        assert_eq!(config.simulation.routes.endpoint_allow, ["gpu-7.lab"]);
        assert!(!config.simulation.routes.assemble && parse("").unwrap().simulation.routes.assemble);
    }

    /// I10: what cannot be is refused by name.
    #[test]
    fn what_cannot_be_is_refused() {
        for text in [
            "simulation.heartbeat_ms = 0",
            "simulation.misses_until_lost = 0",
            "simulation.chunk_size = 1",
            "simulation.rebind = 'Resume'",
            "simulation.degraded_queue_ratio = -1",
            "simulation.degraded_queue_ratio = nan",
            "simulation.output_root = 7",
            "simulation.endpoint_allow = 'a'",
            "simulation.split_after = 0",
            "simulation.assemble = 'yes'",
            "simulation.checkpoint_interval_s = 0",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(text.split(' ').next().unwrap()), "{error}");
        }
    }

    /// I10: the pinned settings of the pool have the contract's defaults, and take fractions of seconds.
    #[test]
    fn the_pools_settings_are_read() {
        let config = Config::parse(&Layers::defaults()).unwrap();
        assert_eq!(config.settings.pool, PoolSettings::default());
        assert_eq!(config.pool.accounts, AccountSettings::default());
        assert!(config.pool.read_last_heartbeat_at);
        let config =
            parse("[pool]\nlease_s = 0.5\noffline_after_s = 2\nmax_attempts = 1\ntoken_ttl_s = 1.5").unwrap();
        assert_eq!(config.settings.pool.lease, Millis(500));
        assert_eq!(config.settings.pool.max_attempts, 1);
        assert_eq!(config.pool.accounts.token_ttl, Millis(1500));
        for bad in
            ["pool.lease_s = 0", "pool.max_attempts = 61", "pool.max_attempts = 0", "pool.token_ttl_s = 0"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
