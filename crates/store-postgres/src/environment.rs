//! What the environment says where an address is silent, by the names that libpq has for it.

use crate::target::refused;
use muster_store::StoreError;
use std::env;
use tokio_postgres::Config;

/// What an address may leave out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// One host or several with a comma between.
    pub(crate) host: Option<String>,
    /// One port for all hosts, or one for each with a comma between.
    pub(crate) port: Option<String>,
    pub(crate) database: Option<String>,
}

impl Environment {
    /// Reads it; a password that is given goes before that of the environment.
    pub(crate) fn read(password: Option<String>) -> Self {
        let read = |name| env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            user: read("PGUSER"),
            password: password.or_else(|| read("PGPASSWORD")),
            host: read("PGHOST"),
            port: read("PGPORT"),
            database: read("PGDATABASE"),
        }
    }

    /// The hosts for an address without any.
    pub(crate) fn hosts(&self) -> Vec<&str> {
        self.host.iter().flat_map(|hosts| hosts.split(',')).collect()
    }

    /// The port of one of so many hosts, if the address has none for it.
    pub(crate) fn port(&self, number: usize, hosts: usize) -> Result<Option<u16>, StoreError> {
        let Some(text) = &self.port else {
            return Ok(None);
        };
        let ports: Vec<&str> = text.split(',').collect();
        let port = match ports.as_slice() {
            [port] => port,
            ports if ports.len() == hosts => ports[number],
            _ => return Err(refused(&format!("PGPORT is {text:?}, and there are {hosts} hosts"))),
        };
        port.trim()
            .parse()
            .map(Some)
            .map_err(|_| refused(&format!("PGPORT is {text:?}; it must be a number")))
    }

    /// Adds what else is missing.
    pub(crate) fn complete(&self, config: &mut Config) {
        if let (None, Some(user)) = (config.get_user(), &self.user) {
            config.user(user);
        }
        if let (None, Some(password)) = (config.get_password(), &self.password) {
            config.password(password);
        }
        if let (None, Some(database)) = (config.get_dbname(), &self.database) {
            config.dbname(database);
        }
    }
}
