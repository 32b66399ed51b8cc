//! Devices behind the adb server of this PC (N23).
//!
//! The server is spoken to over its socket, in the protocol of adb's `OVERVIEW.TXT` and `SERVICES.TXT`; the adb program
//! is run only to start a server where none is. `server` carries requests, `identity` reads
//! what is attached and tells a device from the handle that reaches it, `shell` does the work of steps.
//!
//! A step is done on the *device*, never on a handle alone: before each, the list is read anew and the handle must reach
//! the serial that is asked for. An address that meanwhile belongs to another phone is refused, not driven.

mod identity;
mod server;
mod shell;

#[cfg(test)]
mod tests;

use crate::{
    Attached,
    driver::{Cause, StepCall, StepFailure, StepOutput},
};
use identity::{Line, Memory, Route, State};
use server::{Server, Trouble};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{task::JoinSet, time::timeout};

/// The devices of the adb server.
#[derive(Debug)]
pub struct Adb {
    server: Arc<Server>,
    memory: Mutex<Memory>,
}

impl Adb {
    /// Speaks to nobody yet.
    #[must_use]
    pub fn new(settings: AdbSettings) -> Self {
        Self { server: Arc::new(Server::new(settings)), memory: Mutex::default() }
    }

    /// Lists what is attached: one entry per device, under its immutable serial (N23).
    ///
    /// A USB handle is the serial. Behind any other handle the device is asked for it once per connection; one that is not
    /// online goes by what was learnt last, and by its handle where nothing ever was. A device that is reached twice is
    /// listed once: by what is online, USB before network. Emulators whose serial only names the emulator's version
    /// go by their handle, or all of them would be one device.
    ///
    /// # Errors
    /// When the adb server neither answers nor can be started.
    pub async fn discover(&self) -> Result<Vec<Attached>, StepFailure> {
        let lines = self.lines().await?;
        self.learn(lines.iter()).await;
        Ok(self.memory().devices(&lines).into_iter().map(Into::into).collect())
    }

    /// Does a step of kind `adb`: `get-state`, `shell …` or `exec-out …` (N23).
    ///
    /// The words of a command reach the device's program as they are; no shell takes them apart.
    ///
    /// # Errors
    /// With the device's condition as the cause where that is why: it is looked at before each step, and again when a
    /// connection breaks.
    pub async fn perform(&self, call: &StepCall<'_>) -> Result<StepOutput, StepFailure> {
        let done = tokio::select! {
            biased;
            // Cancellation drops the sockets; adbd then ends the programs behind them.
            () = call.cancel.cancelled() => Err(failure(Cause::Cancelled, "cancelled")),
            done = self.run(call) => done,
        };
        match done? {
            Done::Text(text) => Ok(StepOutput { text: Some(text), file: None }),
            // Outside of what can be cancelled: a write that was begun cannot be called back.
            Done::Screenshot(png) => shell::keep(&png, call.scratch).await,
        }
    }

    async fn run(&self, call: &StepCall<'_>) -> Result<Done, StepFailure> {
        let line = self.find(call).await?;
        match self.act(call, &line).await {
            Ok(done) => Ok(done),
            Err(trouble) => Err(self.explain(call, trouble).await),
        }
    }

    async fn act(&self, call: &StepCall<'_>, line: &Line) -> Result<Done, Trouble> {
        let (verb, words) = call.step.command.split_first().ok_or_else(|| unknown_verb(""))?;
        match verb.as_str() {
            "get-state" => Ok(Done::Text("device".to_owned())),
            "shell" => shell::run(&self.server, line, words).await.map(Done::Text),
            "exec-out" if words.first().is_some_and(|program| program == "screencap") => {
                shell::take(&self.server, line, words).await.map(Done::Screenshot)
            }
            "exec-out" => {
                let text = shell::exec_text(&self.server, line, words).await?;
                self.still_there(line).await?;
                Ok(Done::Text(text))
            }
            other => Err(unknown_verb(other)),
        }
    }

    /// `exec:` says no exit code, so the end of a command looks like the end of a connection.
    async fn still_there(&self, line: &Line) -> Result<(), Trouble> {
        let lines = self.server.devices().await?;
        let same = |now: &&Line| now.handle == line.handle && now.transport == line.transport;
        match lines.iter().find(same) {
            Some(now) if now.state == State::Online => Ok(()),
            _ => Err(Trouble::Broken("the connection ended, perhaps before the command did".to_owned())),
        }
    }

    /// Finds what reaches the device now, or says why nothing does.
    async fn find(&self, call: &StepCall<'_>) -> Result<Line, StepFailure> {
        let lines = self.lines().await?;
        let about = |line: &&Line| {
            let known = self.memory().name(line);
            *line.handle == *call.handle || *line.handle == *call.device || *known == *call.device
        };
        let about: Vec<Line> = lines.iter().filter(about).cloned().collect();
        self.learn(about.iter()).await;
        let seen = self.memory().devices(&about);
        // An emulator that was reported under its handle before it was up is still meant by that handle.
        let meant =
            |seen: &&identity::Seen| *seen.device == *call.device || *seen.line.handle == *call.device;
        let Some(found) = seen.iter().find(meant) else { return Err(absent(call, &seen)) };
        let line = &found.line;
        match &line.state {
            State::Online if !self.memory().is_sure(line) => {
                Err(unreachable(line, "is listed but does not say who it is"))
            }
            State::Online => self.booted(call, line).await.map(|()| line.clone()),
            State::Unauthorized => {
                let message = format!("{} has not allowed this PC to debug it", line.handle);
                Err(failure(Cause::NeedsUsbAuthorization, &message))
            }
            State::Offline => Err(unreachable(line, "is offline")),
            State::Other(state) => Err(unreachable(line, &format!("is in state {state:?}"))),
        }
    }

    /// An emulator's adbd answers long before Android does; `get-state` is where a workflow asks.
    async fn booted(&self, call: &StepCall<'_>, line: &Line) -> Result<(), StepFailure> {
        let asks = call.step.command.first().is_some_and(|verb| verb == "get-state");
        if !asks || Route::of(&line.handle) != Route::Emulator {
            return Ok(());
        }
        match shell::getprop(&self.server, line, "sys.boot_completed").await {
            Ok(value) if value == "1" => Ok(()),
            Ok(_) => {
                Err(failure(Cause::EmulatorNotBooted, &format!("{} has not finished booting", line.handle)))
            }
            Err(trouble) => Err(unreachable(line, &format!("does not answer: {trouble}"))),
        }
    }

    /// Names the true cause of what went wrong midway.
    async fn explain(&self, call: &StepCall<'_>, trouble: Trouble) -> StepFailure {
        let message = trouble.to_string();
        if !matches!(trouble, Trouble::Broken(_) | Trouble::Refused(_)) {
            return trouble.into();
        }
        match (self.find(call).await, trouble) {
            (Err(found), _) => failure(found.cause, &format!("{} ({message})", found.message)),
            (Ok(line), Trouble::Broken(_)) => {
                unreachable(&line, &format!("was lost for a moment: {message}"))
            }
            (Ok(_), _) => failure(Cause::Other, &message),
        }
    }

    async fn lines(&self) -> Result<Vec<Line>, StepFailure> {
        self.server.devices().await.map_err(Into::into)
    }

    /// Asks those devices for their serials whose handles do not tell, all at once: one that hangs holds up no other.
    async fn learn(&self, lines: impl Iterator<Item = &Line>) {
        let mut asked = JoinSet::new();
        for line in lines {
            if self.memory().must_ask(line) {
                let (server, line) = (Arc::clone(&self.server), line.clone());
                asked.spawn(async move { (identify(&server, &line).await, line) });
            }
        }
        while let Some(answer) = asked.join_next().await {
            if let Ok((Some(serial), line)) = answer {
                self.memory().learn(&line, &serial);
            }
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Result of a step.
enum Done {
    Text(String),
    Screenshot(Vec<u8>),
}

/// Asks a device for its serial; nothing when it does not answer in time.
async fn identify(server: &Server, line: &Line) -> Option<String> {
    let ask = async {
        let serial = shell::getprop(server, line, "ro.serialno").await?;
        if identity::is_own(&serial) {
            return Ok(serial);
        }
        shell::getprop(server, line, "ro.boot.serialno").await
    };
    timeout(server.patience(), ask)
        .await
        .ok()?
        .inspect_err(|trouble: &Trouble| {
            tracing::debug!(handle = %line.handle, %trouble, "does not say its serial");
        })
        .ok()
}

fn absent(call: &StepCall<'_>, seen: &[identity::Seen]) -> StepFailure {
    let StepCall { device, handle, .. } = call;
    let message = match seen.iter().find(|seen| *seen.line.handle == **handle) {
        Some(other) => format!("{handle} reaches {} now, not {device}", other.device),
        None => format!("adb does not list {device} (last reached by {handle})"),
    };
    failure(unreachable_cause(handle), &message)
}

fn unreachable(line: &Line, why: &str) -> StepFailure {
    failure(unreachable_cause(&line.handle), &format!("{} {why}", line.handle))
}

fn unreachable_cause(handle: &str) -> Cause {
    match Route::of(handle) {
        Route::Emulator => Cause::EmulatorNotOnline,
        Route::Usb | Route::Network => Cause::AdbOffline,
    }
}

fn unknown_verb(verb: &str) -> Trouble {
    Trouble::Failed(format!("adb step {verb:?} is none of get-state, shell, exec-out"))
}

fn failure(cause: Cause, message: &str) -> StepFailure {
    StepFailure { cause, message: message.to_owned() }
}

impl From<Trouble> for StepFailure {
    fn from(trouble: Trouble) -> Self {
        let cause = match &trouble {
            Trouble::Missing(_) => Cause::AdbMissing,
            Trouble::Unreachable(_) | Trouble::Broken(_) | Trouble::Refused(_) => Cause::AdbOffline,
            Trouble::Failed(_) => Cause::Other,
        };
        failure(cause, &trouble.to_string())
    }
}

/// Address of the adb server, and the program that can start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdbSettings {
    /// The server's host; only one on this PC is ever started.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// The adb program: a path, or a name to be found on `PATH`.
    pub program: PathBuf,
    /// Timeout of the server, and of a device that is asked for its serial.
    pub patience: Duration,
}

impl Default for AdbSettings {
    fn default() -> Self {
        let patience = Duration::from_secs(5);
        Self { host: "127.0.0.1".to_owned(), port: 5037, program: "adb".into(), patience }
    }
}

impl AdbSettings {
    /// Takes what adb itself would: `ANDROID_ADB_SERVER_ADDRESS` and `ANDROID_ADB_SERVER_PORT`, else the defaults.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let mut settings = Self::default();
        if let Some(host) = variable("ANDROID_ADB_SERVER_ADDRESS") {
            settings.host = host;
        }
        match variable("ANDROID_ADB_SERVER_PORT").map(|text| text.parse().map_err(|_| text)) {
            Some(Ok(port)) if port > 0 => settings.port = port,
            Some(wrong) => {
                let port = settings.port;
                tracing::warn!(?wrong, port, "ANDROID_ADB_SERVER_PORT is no port: the default is used");
            }
            None => {}
        }
        settings
    }

    /// True if the server would be on this PC.
    fn is_here(&self) -> bool {
        let loopback = |address: std::net::IpAddr| address.is_loopback();
        self.host == "localhost" || self.host.parse().is_ok_and(loopback)
    }
}
