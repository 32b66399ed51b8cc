//! Carries requests to the adb server: four hex digits of length and the request, answered `OKAY` or `FAIL`.

use super::{
    AdbSettings,
    identity::{self, Line},
};
use std::{io, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
    sync::Mutex,
    time::timeout,
};

/// The adb server of this PC.
#[derive(Debug)]
pub(super) struct Server {
    settings: AdbSettings,
    /// Held by whoever starts the server, so that it is started once.
    starting: Mutex<()>,
}

/// A connection to the server, or through it to a service of a device.
#[derive(Debug)]
pub(super) struct Session {
    stream: TcpStream,
}

/// Failures between here and the end of a command.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// There is no server, and no program to start one with.
    #[error("{0}")]
    Missing(String),
    /// There is no server.
    #[error("{0}")]
    Unreachable(String),
    /// A connection ended, or carried what adb does not say.
    #[error("{0}")]
    Broken(String),
    /// The server or the device answered, and not with what was asked for.
    #[error("{0}")]
    Refused(String),
    /// The command ran and failed, or cannot be run.
    #[error("{0}")]
    Failed(String),
}

impl Server {
    /// Speaks to nobody yet.
    pub(super) fn new(settings: AdbSettings) -> Self {
        Self { settings, starting: Mutex::new(()) }
    }

    /// Lists the devices.
    pub(super) async fn devices(&self) -> Result<Vec<Line>, Trouble> {
        Ok(identity::read(&self.ask("host:devices-l").await?))
    }

    /// True if the device has a feature of adb's.
    pub(super) async fn has(&self, line: &Line, feature: &str) -> Result<bool, Trouble> {
        let features = self.ask(&line.features_request()).await?;
        Ok(features.split(',').any(|known| known == feature))
    }

    /// Opens a service of a device. How long the device takes is the caller's affair.
    pub(super) async fn open(&self, line: &Line, service: &str) -> Result<Session, Trouble> {
        let mut session = self.session().await?;
        self.in_time(session.request(&line.transport_request())).await?;
        session.request(service).await?;
        Ok(session)
    }

    /// Timeout of the server.
    pub(super) fn patience(&self) -> Duration {
        self.settings.patience
    }

    async fn ask(&self, request: &str) -> Result<String, Trouble> {
        let mut session = self.session().await?;
        let answer = async {
            session.request(request).await?;
            session.block().await
        };
        self.in_time(answer).await
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let patience = self.patience();
        let late = |_| Trouble::Broken(format!("the adb server did not answer within {patience:?}"));
        timeout(patience, answer).await.map_err(late)?
    }

    async fn session(&self) -> Result<Session, Trouble> {
        match self.connect().await {
            Ok(stream) => Ok(Session { stream }),
            Err(error) => self.start_and_connect(&error).await.map(|stream| Session { stream }),
        }
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let address = (self.settings.host.as_str(), self.settings.port);
        let stream = timeout(self.patience(), TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn start_and_connect(&self, error: &io::Error) -> Result<TcpStream, Trouble> {
        let AdbSettings { host, port, .. } = &self.settings;
        let place = format!("no adb server at {host}:{port}");
        if !self.settings.is_here() {
            return Err(Trouble::Unreachable(format!("{place}: {error}")));
        }
        let _starting = self.starting.lock().await;
        // Another step may have started it while this one waited.
        if let Ok(stream) = self.connect().await {
            return Ok(stream);
        }
        self.start().await.map_err(|trouble| match trouble {
            Trouble::Missing(why) => Trouble::Missing(format!("{place}, and {why}")),
            other => Trouble::Unreachable(format!("{place}: {other}")),
        })?;
        self.connect()
            .await
            .map_err(|error| Trouble::Unreachable(format!("{place}, though started: {error}")))
    }

    async fn start(&self) -> Result<(), Trouble> {
        let AdbSettings { port, program, .. } = &self.settings;
        tracing::info!(%port, program = %program.display(), "starts an adb server");
        let mut command = Command::new(program);
        command.args(["-P", &port.to_string(), "start-server"]).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = program.display();
        match timeout(START_LIMIT, command.status()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(Trouble::Unreachable(format!("{program} start-server: {status}"))),
            Ok(Err(error)) => Err(Trouble::Missing(format!("{program} cannot be run: {error}"))),
            Err(_) => Err(Trouble::Unreachable(format!("{program} start-server took over {START_LIMIT:?}"))),
        }
    }
}

impl Session {
    /// Asks for a service.
    async fn request(&mut self, service: &str) -> Result<(), Trouble> {
        if service.len() > REQUEST_BYTES_MAX {
            return Err(Trouble::Failed(format!("a command of {} bytes is too long for adb", service.len())));
        }
        self.write(format!("{:04x}{service}", service.len()).as_bytes()).await?;
        let mut status = [0; 4];
        self.read_exact(&mut status).await?;
        match &status {
            b"OKAY" => Ok(()),
            b"FAIL" => Err(Trouble::Refused(format!("adb refused: {}", self.block().await?.trim()))),
            other => {
                Err(Trouble::Broken(format!("not an adb server: it answered {:?}", other.escape_ascii())))
            }
        }
    }

    /// Four hex digits of length, and so many bytes.
    async fn block(&mut self) -> Result<String, Trouble> {
        let mut digits = [0; 4];
        self.read_exact(&mut digits).await?;
        let length = std::str::from_utf8(&digits).ok().and_then(|text| u16::from_str_radix(text, 16).ok());
        let strange =
            || Trouble::Broken(format!("not an adb server: a length of {:?}", digits.escape_ascii()));
        let mut bytes = vec![0; usize::from(length.ok_or_else(strange)?)];
        self.read_exact(&mut bytes).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends bytes.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.stream.write_all(bytes).await.map_err(broken)
    }

    /// Fills a buffer.
    pub(super) async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), Trouble> {
        self.stream.read_exact(buffer).await.map(drop).map_err(broken)
    }

    /// Takes what has come; 0 at the end.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        self.stream.read(buffer).await.map_err(broken)
    }
}

fn broken(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Trouble::Broken("adb ended the connection".to_owned()),
        _ => Trouble::Broken(format!("the connection to adb broke: {error}")),
    }
}

/// `adb start-server` waits until USB was scanned, so that the first list is whole.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Half of what four hex digits can say, and what every adbd since 2015 takes in one piece.
const REQUEST_BYTES_MAX: usize = 32 * 1024;
