//! The settings of the pool and of accounts.

use super::{ConfigError, WEEK_S, read::Reading};
use muster_accounts::AccountSettings;
use muster_model::PoolSettings;

/// What of the section `pool` is not for the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolConfig {
    pub(crate) accounts: AccountSettings,
    /// Whether the old name of `last_seen_at` is read where the new one is missing (P12).
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
    use super::*;
    use crate::config::{Config, Layers};
    use muster_model::Millis;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut layers = Layers::defaults();
        layers.add_toml(text, "x.toml".as_ref())?;
        Config::parse(&layers)
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
