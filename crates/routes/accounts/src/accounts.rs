//! State that the routes of accounts share.

use crate::{attempts::Attempts, passwords::Passwords};
use muster_http::HttpState;
use muster_model::Millis;
use prometheus_client::metrics::counter::Counter;
use std::sync::Arc;

/// Settings of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountSettings {
    /// Lifetime of a token that is not refreshed (`pool.token_ttl_s`).
    pub token_ttl: Millis,
}

/// State that the routes share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub(crate) settings: AccountSettings,
    pub(crate) passwords: Arc<Passwords>,
    pub(crate) attempts: Arc<Attempts>,
    /// Logins that were refused for a wrong name or password.
    pub(crate) failed_logins: Counter,
}

impl Accounts {
    /// Puts the parts together and has their counts shown at `/metrics`.
    pub(crate) fn new(http: &HttpState, settings: AccountSettings) -> Self {
        let (checks, failed_logins) = (Counter::default(), Counter::default());
        http.metrics.register(|registry| {
            registry.register("password_checks", "Passwords compared with a hash", checks.clone());
            registry.register("failed_logins", "Logins with a wrong name or password", failed_logins.clone());
        });
        let passwords = Arc::new(Passwords::new(checks));
        Self { settings, passwords, attempts: Arc::default(), failed_logins }
    }
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self { token_ttl: Millis::from_secs(900) }
    }
}
