//! Settings of simulation sessions and of the pool.

use super::{ConfigError, WEEK_S, read::Reading};
use muster_accounts::AccountSettings;
use muster_model::{FrameSettings, Millis, PoolSettings, Rebind};
use muster_simulation::SimulationSettings;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
pub(super) fn simulation_config(read: &Reading<'_>, data: &Path) -> Result<SimulationConfig, ConfigError> {
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
pub(super) fn frame_settings(read: &Reading<'_>) -> Result<FrameSettings, ConfigError> {
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
pub(super) fn pool_config(read: &Reading<'_>) -> Result<PoolConfig, ConfigError> {
    Ok(PoolConfig {
        accounts: AccountSettings { token_ttl: read.seconds("pool.token_ttl_s", 1.0, 10.0 * WEEK_S)? },
        read_last_heartbeat_at: read.boolean("pool.read_last_heartbeat_at")?,
    })
}

/// Reads what the rules consult.
pub(super) fn pool_settings(read: &Reading<'_>) -> Result<PoolSettings, ConfigError> {
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
    use super::{
        super::{Config, Layers},
        *,
    };
    use muster_model::{Millis, Ratio};

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
