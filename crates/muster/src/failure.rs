//! Failures of commands: their messages and exit codes (I4).

use crate::{
    client::ClientError, config::ConfigError, login_file::LoginFileError, reach::ReachError,
    secrets::SecretError,
};
use muster_agent::{runtime::AgentError, workflow::WorkflowError};
use muster_archive::WriteError;
use muster_court::{
    Fault, RoleLockError,
    inbox::ReplyError,
    init::InitError,
    roles::{chamberlain::SenseError, envoy::EnvoyError, general::GeneralError, sentinel::SentinelError},
};
use muster_manifest::MergeError;
use muster_simulation::{ReadError, RestoreError, output::OutputError};
use muster_spool::SpoolError;
use muster_store::StoreError;
use muster_workers::pool::{KeyFileError, runtime::PoolWorkerError};
use std::{io, path::PathBuf, process::ExitCode};

/// The exit codes that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine = 0,
    /// The work failed.
    Failed = 1,
    /// The command was not understood.
    Usage = 2,
    /// The server cannot be reached or cannot serve now.
    Unreachable = 3,
    /// The server said no: wrong token, or it does not fit the state of things.
    Refused = 4,
    /// There is no such thing.
    NotFound = 5,
}

/// Reasons why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Reach(#[from] ReachError),
    #[error(transparent)]
    Login(#[from] LoginFileError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error(transparent)]
    PoolWorker(#[from] PoolWorkerError),
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error(transparent)]
    Manifest(#[from] MergeError),
    #[error("{0}; name another directory in simulation.output_root")]
    Output(#[from] OutputError),
    #[error("cannot speak TLS to other servers: {0}")]
    Tls(#[from] muster_gateway::TlsError),
    #[error("cannot speak HTTP: {0}")]
    Http(#[from] reqwest::Error),
    #[error("cannot listen on {address}: {error}; {}", next(.error))]
    Listen { address: String, error: io::Error },
    #[error("cannot use the data directory {}: {error}; choose another with --data", path.display())]
    Data { path: PathBuf, error: io::Error },
    #[error("the system refused what the command needs: {0}")]
    System(#[from] io::Error),
    #[error("cannot restore {}: {error}", path.display())]
    Checkpoint { path: PathBuf, error: ReadError },
    #[error("nothing was restored: {0}")]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Backup(#[from] WriteError),
    #[error(transparent)]
    FromBackup(#[from] muster_archive::RestoreError),
    #[error("{0}")]
    Tables(#[from] muster_tables::Fault),
    #[error(transparent)]
    Court(#[from] Fault),
    #[error(transparent)]
    CourtConfig(#[from] muster_court::config::ConfigError),
    #[error(transparent)]
    CourtInit(#[from] InitError),
    #[error(transparent)]
    Role(#[from] RoleLockError),
    #[error(transparent)]
    Envoy(#[from] EnvoyError),
    #[error(transparent)]
    General(#[from] GeneralError),
    #[error(transparent)]
    Sentinel(#[from] SentinelError),
    #[error("the chamberlain cannot look at this host: {0}")]
    Chamberlain(#[from] SenseError),
    #[error(transparent)]
    Reply(#[from] ReplyError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// Says that what somebody handed in is not taken; trouble of another kind stays what it is.
    pub(crate) fn refused(what: &str, fault: Fault) -> Self {
        match fault {
            Fault::Invalid(reason) => Self::Refused(format!("{what}: {reason}")),
            other => Self::Court(other),
        }
    }

    /// The exit code that goes with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Client(error) => error.exit(),
            Self::Reach(error) => error.exit(),
            Self::Login(error) => error.exit(),
            Self::Store(StoreError::Absent(_)) | Self::Secret(SecretError::Store(StoreError::Absent(_))) => {
                Exit::NotFound
            }
            // An address that is none is a setting like any other; one that is taken is not its fault.
            Self::Store(StoreError::Address(_))
            | Self::Secret(SecretError::Store(StoreError::Address(_))) => Exit::Usage,
            Self::Listen { error, .. } if is_no_address(error) => Exit::Usage,
            Self::Secret(SecretError::Store(_)) => Exit::Failed,
            Self::Config(_)
            | Self::Secret(_)
            | Self::Workflow(_)
            | Self::CourtConfig(_)
            | Self::Envoy(_)
            | Self::Sentinel(_)
            | Self::General(GeneralError::NoCoordinator(_))
            | Self::Reply(ReplyError::Empty | ReplyError::TooLong(_))
            | Self::Usage(_) => Exit::Usage,
            Self::Refused(_)
            | Self::Role(RoleLockError::Held { .. })
            | Self::CourtInit(InitError::Exists(_))
            | Self::Reply(ReplyError::AlreadyAnswered(_)) => Exit::Refused,
            Self::NotFound(_) | Self::Reply(ReplyError::NotFound(_)) => Exit::NotFound,
            Self::Manifest(MergeError::Directory { .. } | MergeError::TotalFrames(_)) => Exit::Usage,
            Self::Restore(RestoreError::NotEmpty(_))
            | Self::FromBackup(muster_archive::RestoreError::NotEmpty)
            | Self::Key(KeyFileError::Exposed(_))
            | Self::PoolWorker(PoolWorkerError::InUse(_) | PoolWorkerError::Key(KeyFileError::Exposed(_))) => {
                Exit::Refused
            }
            Self::Store(_)
            | Self::Backup(_)
            | Self::FromBackup(_)
            | Self::Tables(_)
            | Self::Checkpoint { .. }
            | Self::Restore(_)
            | Self::Output(_)
            | Self::Manifest(_)
            | Self::Agent(_)
            | Self::PoolWorker(_)
            | Self::Key(_)
            | Self::Spool(_)
            | Self::Tls(_)
            | Self::Http(_)
            | Self::Court(_)
            | Self::General(_)
            | Self::Chamberlain(_)
            | Self::CourtInit(_)
            | Self::Role(_)
            | Self::Reply(_)
            | Self::Listen { .. }
            | Self::Data { .. }
            | Self::System(_) => Exit::Failed,
        }
    }
}

/// Advice for an address that cannot be listened on.
fn next(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "end what listens there, or choose another with --listen",
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on with --listen",
        io::ErrorKind::AddrNotAvailable => "choose an address of this host with --listen",
        _ => "choose another with --listen HOST:PORT",
    }
}

/// True if the text is no address at all, or the host is unknown.
fn is_no_address(error: &io::Error) -> bool {
    // Whatever the system itself refuses has a number.
    error.raw_os_error().is_none()
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I1, I4: a data directory in use ends with 1, in words that say what to do.
    #[test]
    fn a_directory_in_use_is_a_failure_of_the_work() {
        let failure = Failure::from(StoreError::InUse("./muster-data".to_owned()));
        assert_eq!(failure.exit(), Exit::Failed);
        assert!(failure.to_string().contains("choose another --data directory"));
    }

    /// I4, P16: a pool worker that cannot have its spool, or its key, does not fit the state of things.
    #[test]
    fn a_spool_in_use_is_refused() {
        let failure = Failure::from(PoolWorkerError::InUse("./spool".to_owned()));
        assert_eq!(failure.exit(), Exit::Refused);
        let exposed = PoolWorkerError::from(KeyFileError::Exposed("key".into()));
        assert_eq!(Failure::from(exposed).exit(), Exit::Refused);
    }

    /// I1, I4: an address that is none is a matter of usage, one that is taken is not; both say what to do.
    #[test]
    fn an_address_is_wrong_or_taken() {
        let listen = |address: &str| {
            let error = std::net::TcpListener::bind(address).unwrap_err();
            let failure = Failure::Listen { address: address.to_owned(), error };
            (failure.exit(), failure.to_string())
        };
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (exit, words) = listen(&taken.local_addr().unwrap().to_string());
        assert!(
            exit == Exit::Failed
                && words.ends_with("end what listens there, or choose another with --listen")
        );
        for wrong in ["nonsense", "127.0.0.1", "127.0.0.1:99999"] {
            let (exit, words) = listen(wrong);
            assert_eq!(exit, Exit::Usage, "{words}");
            assert!(words.contains(wrong) && words.ends_with("--listen HOST:PORT"), "{words}");
        }
        let database = || StoreError::Address("it has no host".to_owned());
        for failure in [Failure::from(database()), Failure::Secret(SecretError::Store(database()))] {
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains("--store"), "{failure}");
        }
    }

    /// I4: settings that make no sense are a matter of usage.
    #[test]
    fn wrong_settings_are_usage() {
        assert_eq!(Failure::Usage(String::new()).exit(), Exit::Usage);
        assert_eq!(Failure::from(SecretError::Same).exit() as u8, 2);
    }
}
