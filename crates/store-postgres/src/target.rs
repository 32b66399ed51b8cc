//! The address of the database: reading it, and what the environment adds.

use crate::{
    connect::{self, Trust},
    fault::cause,
};
use muster_store::StoreError;
use percent_encoding::percent_decode_str;
use std::{env, path::PathBuf, str::FromStr, sync::atomic::AtomicUsize, time::Duration};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The servers that may have the database, and how to reach them.
pub(crate) struct Target {
    /// In the order to try them.
    pub(crate) servers: Vec<Server>,
    /// The one that took the last connection; it is tried first, for others may take long to refuse.
    pub(crate) last: AtomicUsize,
    /// Kind of encryption, where one is asked for.
    pub(crate) tls: MakeRustlsConnect,
    /// Time within which one server must accept a connection.
    pub(crate) connect_limit: Duration,
    /// Longest silence of a leader.
    pub(crate) lease: Duration,
}

/// One server that may have the database.
pub(crate) struct Server {
    /// Its name in messages: host and port, and nothing secret.
    pub(crate) place: String,
    /// Address of the host.
    pub(crate) config: Config,
}

impl Target {
    /// Reads an address of the form that libpq takes; the environment has what it leaves out.
    ///
    /// No message repeats the address: it may hold a password.
    pub(crate) fn parse(url: &str, environment: &Environment, lease: Duration) -> Result<Self, StoreError> {
        let address = Address::read(url)?;
        let connect_limit = lease.max(CONNECT_LIMIT_MIN);
        let servers = address.configs(environment)?.into_iter().map(|mut config| {
            if config.get_connect_timeout().is_none() {
                config.connect_timeout(connect_limit);
            }
            config.ssl_mode(address.mode).target_session_attrs(TargetSessionAttrs::ReadWrite);
            // Keepalives detect a lost connection within two leases, even while no query runs.
            config.keepalives(true).keepalives_idle(lease.max(SECOND));
            config.keepalives_interval((lease / 3).max(SECOND)).keepalives_retries(3);
            config.application_name("muster");
            Server::new(config)
        });
        let servers = servers.collect::<Result<_, _>>()?;
        let tls = MakeRustlsConnect::new(connect::client(&address.trust)?);
        Ok(Self { servers, last: AtomicUsize::new(0), tls, connect_limit, lease })
    }

    /// The same, for whoever only reads: a server that takes no writes will do.
    pub(crate) fn for_reading(mut self) -> Self {
        for server in &mut self.servers {
            server.config.target_session_attrs(TargetSessionAttrs::Any);
        }
        self
    }

    /// The address for people: hosts and database, and nothing secret.
    pub(crate) fn shown(&self) -> String {
        let places: Vec<&str> = self.servers.iter().map(|server| server.place.as_str()).collect();
        let database = self.servers.first().and_then(|server| server.config.get_dbname()).unwrap_or_default();
        format!("postgres://{}/{database}", places.join(","))
    }
}

impl Server {
    fn new(mut config: Config) -> Result<Self, StoreError> {
        let host = match (config.get_hosts(), config.get_hostaddrs()) {
            ([Host::Tcp(name)], _) => name.clone(),
            ([Host::Unix(path)], _) => path.display().to_string(),
            ([], [address]) => address.to_string(),
            _ => return Err(refused("it must name one host, or several with a comma between")),
        };
        if matches!(config.get_hosts(), [Host::Unix(_)]) {
            // A socket of this machine is not encrypted, whatever is asked for; libpq sees it so too.
            config.ssl_mode(SslMode::Disable);
        }
        let place = format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432));
        Ok(Self { place, config })
    }
}

/// An address in pieces.
struct Address<'a> {
    /// The scheme, the user and the password.
    before_hosts: &'a str,
    hosts: &'a str,
    /// The name of the database.
    path: &'a str,
    /// Parameters of the client library, with the question mark before them.
    parameters: String,
    mode: SslMode,
    trust: Trust,
}

impl<'a> Address<'a> {
    fn read(url: &'a str) -> Result<Self, StoreError> {
        let scheme = ["postgres://", "postgresql://"].into_iter().find(|scheme| url.starts_with(scheme));
        let scheme = scheme.ok_or_else(|| refused("it must begin with postgres://"))?;
        let (before_hosts, rest) = url.split_at(scheme.len() + user_length(&url[scheme.len()..])?);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (mut mode, mut trust, mut others) = ("prefer".to_owned(), Trust::default(), Vec::new());
        for parameter in query.split('&').filter(|text| !text.is_empty()) {
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| refused("one of its parameters has no value"))?;
            let decoded = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => mode = decoded(),
                "sslrootcert" => trust.roots = Some(PathBuf::from(decoded())),
                "sslcert" => trust.certificate = Some(PathBuf::from(decoded())),
                "sslkey" => trust.key = Some(PathBuf::from(decoded())),
                // The client library would take what is before an @ for the user.
                _ => others.push(parameter.replace('@', "%40")),
            }
        }
        let mode = read_mode(&mode, &mut trust)?;
        let parameters = format!("?{}", others.join("&"));
        Ok(Self { before_hosts, hosts, path, parameters, mode, trust })
    }

    /// Settings of the client library for each host.
    fn configs(&self, environment: &Environment) -> Result<Vec<Config>, StoreError> {
        // A host name holds no comma, and a path to a socket must have it written as %2C.
        let hosts: Vec<&str> = self.hosts.split(',').collect();
        let others = if self.names_host() { Vec::new() } else { environment.hosts() };
        let count = hosts.len().max(others.len());
        let config = |number: usize| {
            let port = environment.port(number, count)?;
            let host = with_port(hosts.get(number).copied().unwrap_or_default(), port);
            let text = [self.before_hosts, &host, self.path, &self.parameters].concat();
            let mut config = Config::from_str(&text).map_err(|error| refused(&cause(&error)))?;
            others.get(number).map(|host| config.host(*host));
            if let (true, Some(port)) = (config.get_ports().is_empty(), port) {
                config.port(port);
            }
            environment.complete(&mut config);
            Ok(config)
        };
        (0..count).map(config).collect()
    }

    fn names_host(&self) -> bool {
        let names = |parameter: &str| parameter.starts_with("host=") || parameter.starts_with("hostaddr=");
        !self.hosts.is_empty() || self.parameters.trim_start_matches('?').split('&').any(names)
    }
}

/// Length of the user and the password at the beginning of what follows the scheme, the @ after them included.
///
/// Whatever could be taken for a host though it is a piece of a password is refused: hosts are shown in messages.
fn user_length(rest: &str) -> Result<usize, StoreError> {
    let (authority, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = if behind.starts_with('/') { behind.split('?').next().unwrap_or_default() } else { behind };
    if path.contains('@') {
        return Err(refused(
            "there is an @ behind a / or ?; in the user or the password write %2F and %3F for those",
        ));
    }
    match authority.split('@').count() {
        1 => Ok(0),
        2 => Ok(authority.find('@').map_or(0, |at| at + 1)),
        _ => Err(refused("it has more than one @; write one that is in the password as %40")),
    }
}

/// A host as addresses have it, with the port unless it has one.
fn with_port(host: &str, port: Option<u16>) -> String {
    let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    match port {
        Some(port) if !host.is_empty() && !has_port => format!("{host}:{port}"),
        _ => host.to_owned(),
    }
}

/// Reads `sslmode` with the meaning it has for libpq.
fn read_mode(word: &str, trust: &mut Trust) -> Result<SslMode, StoreError> {
    (trust.checks_chain, trust.checks_name) = match word {
        // A root certificate in the URL is meant to be checked.
        "require" => (trust.roots.is_some(), false),
        "verify-ca" => (true, false),
        "verify-full" => (true, true),
        _ => (false, false),
    };
    match word {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(refused(&format!(
            "sslmode is {word:?}; it must be disable, prefer, require, verify-ca or verify-full"
        ))),
    }
}

/// The error for an address that cannot be used.
pub(crate) fn refused(why: &str) -> StoreError {
    StoreError::Address(why.to_owned())
}

/// Parts that an address may leave out.
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

/// The least that a server gets to take a connection: logging in takes a while where much is going on.
const CONNECT_LIMIT_MIN: Duration = Duration::from_secs(2);

/// The shortest that the kernel counts in.
const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, String> {
        let password = Some("from outside".to_owned());
        parse_in(&Environment { password, ..Environment::default() }, url)
    }

    fn parse_in(environment: &Environment, url: &str) -> Result<Target, String> {
        Target::parse(url, environment, Duration::from_secs(3)).map_err(|error| error.to_string())
    }

    fn places(url: &str) -> Vec<String> {
        parse(url).unwrap().servers.into_iter().map(|server| server.place).collect()
    }

    #[test]
    fn every_host_is_tried_by_itself() {
        assert_eq!(places("postgres://u:p@h1,h2:6000,[::1]:7/db"), ["h1:5432", "h2:6000", "::1:7"]);
        assert_eq!(places("postgresql://u@h1/db?target_session_attrs=any&sslmode=disable"), ["h1:5432"]);
        assert_eq!(places("postgres:///db?host=/run/pg&port=6000"), ["/run/pg:6000"]);
        assert_eq!(places("postgres://u@%2Frun%2Fpg/db"), ["/run/pg:5432"]);
    }

    #[test]
    fn only_a_server_that_takes_writes_will_do() {
        for server in parse("postgres://u@h1,h2/db?target_session_attrs=any").unwrap().servers {
            assert_eq!(server.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn the_password_comes_from_the_address_or_from_outside() {
        let password = |url| parse(url).unwrap().servers[0].config.get_password().map(<[u8]>::to_vec);
        assert_eq!(password("postgres://u:p%2F%3F@h/db").as_deref(), Some(b"p/?".as_slice()));
        assert_eq!(password("postgres://u@h/db").as_deref(), Some(b"from outside".as_slice()));
    }

    #[test]
    fn sockets_are_not_encrypted_and_other_hosts_as_asked_for() {
        let mode = |url: &str| parse(url).unwrap().servers[0].config.get_ssl_mode();
        assert_eq!(mode("postgres://u@%2Frun%2Fpg/db?sslmode=require"), SslMode::Disable);
        assert_eq!(mode("postgres://u@h/db"), SslMode::Prefer);
        assert_eq!(mode("postgres://u@h/db?sslmode=verify-ca"), SslMode::Require);
        assert_eq!(mode("postgres://u@h/db?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn a_wrong_address_is_explained_without_repeating_its_password() {
        for (url, why) in [
            ("mysql://u:geheim@h/db", "must begin with postgres://"),
            ("postgres://u:geheim@h/db?sslmode=sometimes", "sslmode is \"sometimes\""),
            ("postgres://u:geheim@h/db?speed=high", "unknown option `speed`"),
            ("postgres://u:geheim@h:port/db", "port"),
            ("postgres://u:x@geheim@h/db", "write one that is in the password as %40"),
            ("postgres://u:geheim@/db", "must name one host"),
            ("postgres://u:geheim@h/db?fast", "has no value"),
            ("postgres://u:x@geheim:1@h1,h2/db", "%40"),
            ("postgres://u:geheim/x@h/db", "%2F"),
            ("postgres://u:x@geheim/y@h/db", "%2F"),
            ("postgres://u:geheim?x@h/db", "%3F"),
            ("postgres://u:x?geheim=1@h/db", "%3F"),
            ("postgres://u:geheim@h/db?sslmode=verify-full&sslrootcert=/nowhere.crt", "/nowhere.crt"),
            ("postgres://u:geheim@h/db?sslmode=require&sslkey=/nowhere.key", "sslcert"),
        ] {
            let error = parse(url).err().expect("it is refused");
            assert!(error.contains(why) && !error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn an_at_sign_elsewhere_is_no_user() {
        let target = parse("postgres://h/db?options=-c%20a=b@c&user=u").unwrap();
        assert_eq!(target.servers[0].config.get_user(), Some("u"));
        assert_eq!(target.servers[0].config.get_options(), Some("-c a=b@c"));
        assert_eq!(target.shown(), "postgres://h:5432/db");
    }

    #[test]
    fn the_environment_has_what_the_address_leaves_out() {
        let text = |text: &str| Some(text.to_owned());
        let environment = Environment {
            user: text("someone"),
            password: None,
            host: text("h1,/run/pg,::1"),
            port: text("6000"),
            database: text("work"),
        };
        let read = |url: &str| {
            let target = parse_in(&environment, url).unwrap();
            let config = &target.servers[0].config;
            let (user, database) = (config.get_user().unwrap(), config.get_dbname().unwrap());
            let places: Vec<_> = target.servers.iter().map(|server| server.place.as_str()).collect();
            format!("{user} {database} {}", places.join(" "))
        };
        assert_eq!(read("postgres://"), "someone work h1:6000 /run/pg:6000 ::1:6000");
        assert_eq!(read("postgres://u@h,[::2],i:7/db"), "u db h:6000 ::2:6000 i:7");
        assert_eq!(read("postgres:///db?host=h9&port=9&user=u"), "u db h9:9");
        assert_eq!(read("postgres:///?hostaddr=10.0.0.1"), "someone work 10.0.0.1:6000");
        for (port, why) in [("1,2", "3 hosts"), ("many", "must be a number")] {
            let environment = Environment { port: text(port), ..environment.clone() };
            let error = parse_in(&environment, "postgres://").err().expect("it is refused");
            assert!(error.contains("PGPORT") && error.contains(why), "{error}");
        }
        let environment = Environment { port: text("1,2,3"), ..environment };
        assert_eq!(parse_in(&environment, "postgres://").unwrap().servers[2].place, "::1:3");
    }
}
