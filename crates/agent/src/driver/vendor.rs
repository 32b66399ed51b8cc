//! Devices behind a vendor's control program (N23).
//!
//! The program is asked over a WebSocket: `{action, devices, data}`, answered `{code}`. `channel` carries one request
//! at a time per connection, because answers do not say what they answer; `answer` reads them.

use crate::{
    Attached, Text,
    driver::{Cause, StepCall, StepFailure, StepOutput},
};
use futures_util::{FutureExt, SinkExt, StreamExt};
use muster_model::Attachment;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

/// Default address of vendors' programs.
pub const DEFAULT_URL: &str = "ws://127.0.0.1:22222";

/// The devices of a vendor's program.
#[derive(Debug)]
pub struct Vendor {
    channel: Channel,
}

impl Vendor {
    /// Speaks to nobody yet.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { channel: Channel::new(url) }
    }

    /// Lists the devices of the program (N23): `onlySerial` names one for good, `serial` reaches it now.
    ///
    /// # Errors
    /// When the program is not reached or refuses.
    pub async fn discover(&self) -> Result<Vec<Attached>, StepFailure> {
        let request = json!({"action": "list"}).to_string();
        let late = |_| self.lost(format!("no list within {LIST_PATIENCE:?}"));
        let answer = timeout(LIST_PATIENCE, self.exchange(&request)).await.map_err(late)??;
        let entries = answer.data.as_array().ok_or_else(|| self.lost("its list is no list".to_owned()))?;
        let mut known = HashSet::new();
        let devices = entries.iter().filter_map(attached);
        Ok(devices.filter(|device| known.insert(Text::clone(&device.device))).collect())
    }

    /// Does a step of kind `vendor` (N23): the step's action with its parameters, on this device alone.
    ///
    /// # Errors
    /// [`Cause::VendorWs`] when the program was not reached or its answer makes no sense, [`Cause::VendorCommand`] when
    /// it refused. A command that was sent is never sent again: it may have been carried out.
    pub async fn perform(&self, call: &StepCall<'_>) -> Result<StepOutput, StepFailure> {
        let request = request(call)?;
        let answer = tokio::select! {
            biased;
            // Cancellation drops the connection, because the pending response would be taken for that of another
            // request.
            () = call.cancel.cancelled() => return Err(failure(Cause::Cancelled, "cancelled".to_owned())),
            answer = self.exchange(&request) => answer?,
        };
        Ok(StepOutput { text: answer.text(), file: None })
    }

    /// True if the last exchange with the program worked, as heartbeats say in `vendor_ws_ok` (N8).
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.channel.works()
    }

    async fn exchange(&self, request: &str) -> Result<Answer, StepFailure> {
        let answer = self.channel.exchange(request).await.map_err(|error| failure(Cause::VendorWs, error))?;
        match answer.complaint() {
            None => Ok(answer),
            Some(complaint) => Err(failure(Cause::VendorCommand, complaint)),
        }
    }

    fn lost(&self, why: String) -> StepFailure {
        self.channel.doubt();
        failure(Cause::VendorWs, format!("{}: {why}", self.channel.url()))
    }
}

fn request(call: &StepCall<'_>) -> Result<String, StepFailure> {
    let Some(action) = call.step.action.as_deref().filter(|action| !action.is_empty()) else {
        return Err(failure(Cause::Other, "a vendor step without an action".to_owned()));
    };
    if !names_one(call.handle) {
        let message = format!("{:?} does not name one device of the vendor's", call.handle);
        return Err(failure(Cause::Other, message));
    }
    Ok(json!({"action": action, "devices": call.handle, "data": call.step.params}).to_string())
}

fn attached(entry: &Value) -> Option<Attached> {
    let text = |key: &str| entry[key].as_str().filter(|text| names_one(text));
    let handle = text("serial")?;
    let device = text("onlySerial").unwrap_or(handle);
    Some(Attached { device: device.into(), handle: handle.into(), attachment: Attachment::Online })
}

/// True if a handle means one device. `all` means every one, and a comma makes a list.
fn names_one(handle: &str) -> bool {
    let fits = (1..=HANDLE_BYTES_MAX).contains(&handle.len());
    fits && handle.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',')
        && !handle.eq_ignore_ascii_case("all")
}

fn failure(cause: Cause, message: String) -> StepFailure {
    StepFailure { cause, message }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connections to one program. Each carries one request at a time.
#[derive(Debug)]
struct Channel {
    url: String,
    idle: Mutex<Vec<Socket>>,
    works: AtomicBool,
}

impl Channel {
    /// Connects to nobody yet.
    fn new(url: &str) -> Self {
        Self { url: url.to_owned(), idle: Mutex::default(), works: AtomicBool::new(false) }
    }

    /// Sends a request and waits for its answer. Whoever stops waiting gives up the connection with it.
    async fn exchange(&self, request: &str) -> Result<Answer, String> {
        let outcome = self.carry(request).await;
        self.works.store(outcome.is_ok(), Ordering::Relaxed);
        outcome.map_err(|error| format!("{}: {error}", self.url))
    }

    /// True if the last exchange worked.
    fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// Takes note that an exchange did not work after all.
    fn doubt(&self) {
        self.works.store(false, Ordering::Relaxed);
    }

    /// Address of the program.
    fn url(&self) -> &str {
        &self.url
    }

    async fn carry(&self, request: &str) -> Result<Answer, String> {
        let mut socket = self.sent(request).await?;
        let answer = Answer::read(&received(&mut socket).await?)?;
        // Only a connection that is beyond doubt is used again.
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(socket);
        }
        Ok(answer)
    }

    async fn sent(&self, request: &str) -> Result<Socket, String> {
        if let Some(mut socket) = self.usable() {
            // A program cannot have acted on a message that did not leave whole, so this one may be sent anew.
            if send(&mut socket, request).await.is_ok() {
                return Ok(socket);
            }
        }
        let mut socket = self.connect().await?;
        send(&mut socket, request).await?;
        Ok(socket)
    }

    fn usable(&self) -> Option<Socket> {
        loop {
            let mut socket = self.idle().pop()?;
            if is_quiet(&mut socket) {
                return Some(socket);
            }
        }
    }

    async fn connect(&self) -> Result<Socket, String> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX))
            .read_buffer_size(READ_BUFFER_BYTES);
        let connecting = connect_async_with_config(&self.url, Some(config), true);
        match timeout(CONNECT_PATIENCE, connecting).await {
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(error)) => Err(format!("cannot connect: {error}")),
            Err(_) => Err(format!("cannot connect within {CONNECT_PATIENCE:?}")),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Socket>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn send(socket: &mut Socket, request: &str) -> Result<(), String> {
    socket.send(Message::text(request)).await.map_err(|error| format!("cannot send: {error}"))
}

async fn received(socket: &mut Socket) -> Result<Vec<u8>, String> {
    loop {
        match socket.next().await {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                return Ok(message.into_data().into());
            }
            Some(Ok(Message::Close(_))) | None => return Err("closed before it answered".to_owned()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(format!("lost before it answered: {error}")),
        }
    }
}

/// True if an idle connection has neither ended nor said anything: what it said would be taken for the next answer.
fn is_quiet(socket: &mut Socket) -> bool {
    loop {
        match socket.next().now_or_never() {
            None => return true,
            Some(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Some(_) => return false,
        }
    }
}

/// An answer of a vendor's program.
#[derive(Debug, Deserialize)]
struct Answer {
    code: i64,
    #[serde(default, alias = "msg")]
    message: Value,
    /// The requested data.
    #[serde(default)]
    data: Value,
}

impl Answer {
    /// Reads one.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| {
            let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]);
            format!("an answer that is none ({error}): {begin:?}")
        })
    }

    /// Its complaint, if it refused the command.
    fn complaint(&self) -> Option<String> {
        if self.code == SUCCESS {
            return None;
        }
        let said =
            [&self.message, &self.data].into_iter().find_map(Value::as_str).unwrap_or("no reason given");
        let said: String = said.chars().take(SHOWN_BYTES_MAX).collect();
        Some(format!("the vendor's program answered {}: {said}", self.code))
    }

    /// The requested data, as text.
    fn text(self) -> Option<String> {
        match self.data {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }
}

const LIST_PATIENCE: Duration = Duration::from_secs(10);

/// Longer than any serial.
const HANDLE_BYTES_MAX: usize = 128;
/// Enough for bursts; a connection costs the program little and this agent less.
const IDLE_MAX: usize = 8;

/// The longest answer that is taken.
const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

const READ_BUFFER_BYTES: usize = 8 * 1024;

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Every other code is a failure; programs send 10001.
const SUCCESS: i64 = 10000;

const SHOWN_BYTES_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    /// N18, N23: no entry and no handle can mean more than one device.
    #[test]
    fn a_handle_names_one_device() {
        let seen = |entry: Value| attached(&entry).map(|seen| format!("{} by {}", seen.device, seen.handle));
        assert_eq!(
            seen(json!({"serial": "10.0.0.7:5555", "onlySerial": "SER1"})).unwrap(),
            "SER1 by 10.0.0.7:5555"
        );
        assert_eq!(seen(json!({"serial": "SER2", "onlySerial": "", "mode": 0})).unwrap(), "SER2 by SER2");
        assert_eq!(seen(json!({"serial": "SER3"})).unwrap(), "SER3 by SER3");
        for wrong in [json!(null), json!({}), json!([]), json!({"serial": 7}), json!({"onlySerial": "SER4"})]
        {
            assert_eq!(seen(wrong), None);
        }
        for wrong in ["", "all", "ALL", "a,b", "a b", "caf\u{e9}"] {
            assert_eq!(seen(json!({"serial": wrong, "onlySerial": "SER5"})), None, "{wrong}");
        }
    }

    fn read(text: &str) -> Result<Option<String>, String> {
        let answer = Answer::read(text.as_bytes())?;
        match answer.complaint() {
            Some(complaint) => Ok(Some(format!("! {complaint}"))),
            None => Ok(answer.text()),
        }
    }

    /// N23: 10000 alone is success, and what came with it is the step's text.
    #[test]
    fn the_code_decides() {
        let is = |text: &str, expected: Option<&str>| {
            assert_eq!(read(text).unwrap().as_deref(), expected, "{text}")
        };
        is(r#"{"code":10000}"#, None);
        is(r#"{"code":10000,"message":"SUCCESS","data":null}"#, None);
        is(r#"{"code":10000,"data":"on"}"#, Some("on"));
        is(r#"{"code":10000,"data":{"a":[1]}}"#, Some(r#"{"a":[1]}"#));
        is(
            r#"{"code":10001,"message":"no such app"}"#,
            Some("! the vendor's program answered 10001: no such app"),
        );
        is(r#"{"code":10001,"msg":"busy"}"#, Some("! the vendor's program answered 10001: busy"));
        is(r#"{"code":10001,"data":"gone"}"#, Some("! the vendor's program answered 10001: gone"));
        is(r#"{"code":0}"#, Some("! the vendor's program answered 0: no reason given"));
        is(r#"{"code":-1,"message":{}}"#, Some("! the vendor's program answered -1: no reason given"));
    }

    /// N13, N23: what has no code is no answer.
    #[test]
    fn nonsense_is_no_answer() {
        for wrong in ["", "ok", "[]", "{}", "10000", r#"{"code":"x"}"#, r#"{"code":1.5}"#, r#"{"code":10000"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(Answer::read(b"\xff\xfe").is_err());
        assert!(read(&"[".repeat(100_000)).unwrap_err().len() < 2000);
    }
}
