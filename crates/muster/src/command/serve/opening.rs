//! Opens the store and finds the secrets; a database that cannot be reached yet is waited for.

use crate::{
    assembly::{self, Opened},
    config::{Config, StoreChoice},
    failure::Failure,
    secrets::{SecretError, Secrets},
};
use muster_coordinator::instant_now;
use muster_store::{Store, StoreError};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// What a server begins with.
pub(super) struct Ready {
    pub(super) store: Arc<dyn Store>,
    pub(super) secrets: Secrets,
}

/// Opens the store, and tries until it can be reached; what it waits for meanwhile stands in `cause`.
///
/// # Errors
/// For what waiting does not mend: an address that makes no sense, a password that is wrong, tables of a newer version.
pub(super) async fn open(config: &Config, cause: &watch::Sender<String>) -> Result<Ready, Failure> {
    let mut complaint = Complaint::default();
    // Only what others have too may be back by itself.
    let is_elsewhere = matches!(config.store, StoreChoice::Postgres(_));
    loop {
        let config = config.clone();
        match tokio::task::spawn_blocking(move || open_once(&config)).await.map_err(std::io::Error::other)? {
            Err(failure) if is_elsewhere && may_pass(&failure) => {
                cause.send_replace(format!("the database does not answer: {failure}"));
                complaint.raise(&failure);
            }
            opened => return opened,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn open_once(config: &Config) -> Result<Ready, Failure> {
    let Opened { store, vault } = assembly::open_store(config)?;
    let secrets = Secrets::load(&vault, |name| std::env::var(name).ok())?;
    Ok(Ready { store, secrets })
}

fn may_pass(failure: &Failure) -> bool {
    let error = match failure {
        Failure::Store(error) | Failure::Secret(SecretError::Store(error)) => error,
        _ => return false,
    };
    matches!(error, StoreError::Backend(_))
}

/// What was complained about last, and when: nobody reads the same line every second.
#[derive(Default)]
struct Complaint(Option<(String, Instant)>);

impl Complaint {
    fn raise(&mut self, failure: &Failure) {
        let words = failure.to_string();
        let is_known =
            self.0.as_ref().is_some_and(|(known, at)| *known == words && at.elapsed() < REPEAT_AFTER);
        if !is_known {
            tracing::warn!(error = words, "the store cannot be opened yet; it is tried again until it can");
            self.0 = Some((words, instant_now()));
        }
    }
}

const PAUSE: Duration = Duration::from_millis(500);
const REPEAT_AFTER: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// S18, I1: a database that is away is waited for; what only somebody can mend ends the start.
    #[test]
    fn only_what_passes_is_waited_for() {
        let away = || StoreError::Backend("connection refused".to_owned());
        assert!(may_pass(&Failure::from(away())));
        assert!(may_pass(&Failure::Secret(SecretError::Store(away()))));
        for lasting in [
            Failure::from(StoreError::Unfit("wrong password".to_owned())),
            Failure::from(StoreError::TooNew { found: 9, known: 5 }),
            Failure::from(StoreError::InUse("d".to_owned())),
            Failure::Secret(SecretError::Same),
            Failure::Usage("x".to_owned()),
        ] {
            assert!(!may_pass(&lasting), "{lasting}");
        }
    }
}
