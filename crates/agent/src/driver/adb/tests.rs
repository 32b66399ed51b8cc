//! The driver against servers that a real adb cannot be made to be; the real one is in the end-to-end tests.

use super::{Adb, AdbSettings};
use crate::{
    driver::{Cause, StepCall, StepFailure, StepOutput},
    workflow::{OnFailure, Step, StepKind},
};
use serde_json::{Map, Value};
use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

type Answering = fn(&str) -> Reply;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(50);

/// A server with one list, whose devices all answer the same.
async fn server(list: &'static str, device: Answering) -> FakeServer {
    FakeServer::start(move |request| match request {
        "host:devices-l" => block(list),
        request if request.ends_with(":features") => block("shell_v2,cmd"),
        request if request.starts_with("host:transport") => Reply::Then(b"OKAY".to_vec()),
        request => device(request),
    })
    .await
}

async fn perform(adb: &Adb, device: &str, handle: &str, command: &[&str]) -> Result<StepOutput, StepFailure> {
    let step = Step {
        id: "STEP".to_owned(),
        kind: StepKind::Adb,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        action: None,
        params: Map::new(),
        timeout: LONG,
        on_failure: OnFailure::Stop,
        retries: 0,
    };
    let cancel = CancellationToken::new();
    let (params, scratch) = (&Value::Null, Path::new("/nonexistent"));
    adb.perform(&StepCall { device, handle, step: &step, params, attempt: 1, scratch, cancel: &cancel }).await
}

fn answers(request: &str) -> Reply {
    match request.rsplit_once("getprop ").map(|(_, name)| name) {
        Some("ro.serialno") => ran("unknown\n", 0),
        Some("ro.boot.serialno") => ran("SER1\n", 0),
        Some(_) => ran("\n", 0),
        None => ran("done\n", 0),
    }
}

/// N13: the condition of a device is the cause of every failure that it explains.
#[tokio::test]
async fn a_failure_has_the_cause_that_the_device_shows() {
    let cases = [
        ("SER1 unauthorized transport_id:1", "SER1", Cause::NeedsUsbAuthorization),
        ("SER1 authorizing", "SER1", Cause::NeedsUsbAuthorization),
        ("SER1 offline transport_id:1", "SER1", Cause::AdbOffline),
        ("SER1 no permissions; see [x] transport_id:1", "SER1", Cause::AdbOffline),
        ("SER1 recovery", "SER1", Cause::AdbOffline),
        ("", "SER1", Cause::AdbOffline),
        ("SER2 device", "SER1", Cause::AdbOffline),
        ("10.0.0.7:5555 offline transport_id:1", "10.0.0.7:5555", Cause::AdbOffline),
        ("emulator-5554 offline transport_id:1", "emulator-5554", Cause::EmulatorNotOnline),
        ("", "emulator-5554", Cause::EmulatorNotOnline),
        ("emulator-5554 device transport_id:1", "emulator-5554", Cause::EmulatorNotBooted),
    ];
    for (list, device, cause) in cases {
        let adb = server(list, answers).await.driver(LONG);
        let failure = perform(&adb, device, device, &["get-state"]).await.unwrap_err();
        assert_eq!(failure.cause, cause, "{list:?}: {failure}");
    }
}

/// N23: the serial is asked for once per connection, with the second property where the first is none.
#[tokio::test]
async fn a_serial_is_asked_for_once() {
    let server = server("10.0.0.7:5555 device transport_id:4", answers).await;
    let adb = server.driver(LONG);
    for _ in 0..3 {
        let seen = adb.discover().await.unwrap();
        assert_eq!((&*seen[0].device, &*seen[0].handle), ("SER1", "10.0.0.7:5555"));
        let output = perform(&adb, "SER1", "10.0.0.7:5555", &["shell", "true"]).await.unwrap();
        assert_eq!(output.text.as_deref(), Some("done"));
    }
    assert_eq!(server.asked("getprop ro.serialno"), 1);
    assert_eq!(server.asked("getprop ro.boot.serialno"), 1);
}

/// N18, N23: an address that reaches another phone now is refused; nothing is run there.
#[tokio::test]
async fn another_phone_at_the_same_address_is_not_driven() {
    let server = server("10.0.0.7:5555 device transport_id:4", answers).await;
    let failure =
        perform(&server.driver(LONG), "SER9", "10.0.0.7:5555", &["shell", "reboot"]).await.unwrap_err();
    assert_eq!(failure.cause, Cause::AdbOffline);
    assert_eq!(failure.message, "10.0.0.7:5555 reaches SER1 now, not SER9");
    assert_eq!(server.asked("reboot"), 0);
}

/// N23: a device that moved to another handle is driven there.
#[tokio::test]
async fn a_device_is_found_by_what_reaches_it_now() {
    let server = server("10.0.0.7:5555 offline transport_id:4\nSER1 device transport_id:5", answers).await;
    perform(&server.driver(LONG), "SER1", "10.0.0.7:5555", &["shell", "true"]).await.unwrap();
    assert_eq!(server.asked("host:transport-id:5"), 1);
    assert_eq!(server.asked("host:transport-id:4"), 0);
}

/// N23: servers before 1.0.40 number no connections.
#[tokio::test]
async fn an_old_server_is_asked_by_serial() {
    let server = server("SER1 device", answers).await;
    perform(&server.driver(LONG), "SER1", "SER1", &["shell", "true"]).await.unwrap();
    assert_eq!((server.asked("host:transport:SER1"), server.asked("host-serial:SER1:features")), (1, 1));
}

/// N13: a connection that ends before its command is a lost device, however it ends.
#[tokio::test]
async fn a_connection_that_ends_early_is_no_success() {
    let replies: [Answering; 5] = [
        |_| Reply::Last(b"OKAY".to_vec()),
        |_| Reply::Last(b"OKAY\x01\xff\xff\xff\xffshort".to_vec()),
        |_| Reply::Last(b"OKAY\x01\x02\0".to_vec()),
        |_| Reply::Last(b"OKAY\x03\x01\0\0\0".to_vec()),
        |_| Reply::Last(Vec::new()),
    ];
    for device in replies {
        let adb = server("SER1 device transport_id:1", device).await.driver(LONG);
        let failure = perform(&adb, "SER1", "SER1", &["shell", "true"]).await.unwrap_err();
        assert_eq!(failure.cause, Cause::AdbOffline, "{failure}");
    }
}

/// N13: a device that is there and refuses is not called offline; one whose `exec:` ends as it vanishes is.
#[tokio::test]
async fn a_refusal_is_told_from_a_loss() {
    let refuses = |_: &str| Reply::Last(b"FAIL0006closed".to_vec());
    let adb = server("SER1 device transport_id:1", refuses).await.driver(LONG);
    let failure = perform(&adb, "SER1", "SER1", &["exec-out", "cat", "/x"]).await.unwrap_err();
    assert_eq!((failure.cause, failure.message.as_str()), (Cause::Other, "adb refused: closed"));

    let lists = std::sync::atomic::AtomicU32::new(0);
    let vanishing = FakeServer::start(move |request| match request {
        "host:devices-l" if lists.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 => {
            block("SER1 device transport_id:1")
        }
        "host:devices-l" => block("SER1 offline transport_id:1"),
        request if request.starts_with("host:") => Reply::Then(b"OKAY".to_vec()),
        _ => Reply::Last(b"OKAYhalf of it".to_vec()),
    });
    let adb = vanishing.await.driver(LONG);
    let failure = perform(&adb, "SER1", "SER1", &["exec-out", "cat", "/x"]).await.unwrap_err();
    assert_eq!(failure.cause, Cause::AdbOffline, "{failure}");
}

/// N13: whatever listens in adb's place breaks nothing, and a server that hangs holds nobody up.
#[tokio::test]
async fn a_server_that_is_none_is_a_failure() {
    let replies: [(Answering, Duration); 7] = [
        (|_| Reply::Last(b"HTTP/1.1 400 Bad Request\r\n".to_vec()), LONG),
        (|_| Reply::Last(b"OKAYzzzz".to_vec()), LONG),
        (|_| Reply::Last(b"OKAY-001".to_vec()), LONG),
        (|_| Reply::Last(b"OKAYffffshort".to_vec()), LONG),
        (|_| Reply::Last(b"FAILffff".to_vec()), LONG),
        (|_| Reply::Last(Vec::new()), LONG),
        (|_| Reply::Silence, SHORT),
    ];
    for (number, (reply, patience)) in replies.into_iter().enumerate() {
        let adb = FakeServer::start(reply).await.driver(patience);
        let failure = adb.discover().await.unwrap_err();
        assert_eq!(failure.cause, Cause::AdbOffline, "{number}: {failure}");
        perform(&adb, "SER1", "SER1", &["get-state"]).await.unwrap_err();
    }
}

/// N23: a device that hangs is listed as unusable, and holds up no other.
#[tokio::test]
async fn a_device_that_does_not_say_who_it_is_is_listed_with_an_error() {
    let list = "10.0.0.7:5555 device transport_id:1\nSER2 device transport_id:2";
    let adb = server(list, |_| Reply::Silence).await.driver(SHORT);
    let seen = adb.discover().await.unwrap();
    let seen: Vec<_> = seen.iter().map(|seen| format!("{} {:?}", seen.device, seen.attachment)).collect();
    assert_eq!(seen, ["10.0.0.7:5555 Error", "SER2 Online"]);
}

/// N13, N23: commands that no driver could carry out are refused before anything is sent.
#[tokio::test]
async fn what_is_no_step_is_refused() {
    let server = server("SER1 device transport_id:1", answers).await;
    let adb = server.driver(LONG);
    let long = "x".repeat(40_000);
    for command in
        [&[][..], &["root"], &["shell"], &["exec-out"], &["shell", "a\0b"], &["shell", "echo", &long]]
    {
        let failure = perform(&adb, "SER1", "SER1", command).await.unwrap_err();
        assert_eq!(failure.cause, Cause::Other, "{failure}");
    }
    assert_eq!(server.asked("shell,"), 0);
}

/// N13: no server and no adb program is `adb_missing`; a server elsewhere that does not answer is not.
#[tokio::test]
async fn without_adb_there_is_adb_missing() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let settings = AdbSettings { port: free, program: "/nonexistent/adb".into(), ..AdbSettings::default() };
    let failure = Adb::new(settings.clone()).discover().await.unwrap_err();
    assert_eq!(failure.cause, Cause::AdbMissing);
    assert!(failure.message.contains("/nonexistent/adb cannot be run"), "{failure}");

    let failing = AdbSettings { program: "false".into(), ..settings };
    let failure = Adb::new(failing).discover().await.unwrap_err();
    assert_eq!(failure.cause, Cause::AdbOffline, "{failure}");
}

/// N23
#[test]
fn the_server_is_where_adb_itself_would_look() {
    let read = |host: &'static str, port: &'static str| {
        AdbSettings::from_variables(move |name| match name {
            "ANDROID_ADB_SERVER_ADDRESS" => Some(host.to_owned()),
            "ANDROID_ADB_SERVER_PORT" => Some(port.to_owned()),
            _ => None,
        })
    };
    assert_eq!(AdbSettings::from_variables(|_| None), AdbSettings::default());
    assert_eq!(read("", ""), AdbSettings::default());
    let elsewhere = read("10.0.0.7", "5038");
    assert_eq!((elsewhere.host.as_str(), elsewhere.port), ("10.0.0.7", 5038));
    assert!(!elsewhere.is_here());
    for wrong in ["0", "-1", "65536", "adb"] {
        assert_eq!(read("::1", wrong).port, 5037);
    }
    assert!(read("::1", "").is_here() && read("localhost", "").is_here() && AdbSettings::default().is_here());
}

/// A server that answers as it is told, and remembers what it was asked.
struct FakeServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Reply to a request.
enum Reply {
    /// These bytes; the connection goes on.
    Then(Vec<u8>),
    /// These bytes, and the end of the connection.
    Last(Vec<u8>),
    /// Nothing, ever.
    Silence,
}

impl FakeServer {
    /// Starts one on a port of its own.
    async fn start(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, seen) = (Arc::new(answer), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&seen)));
            }
        });
        Self { port, asked }
    }

    /// A driver of it that could start no other.
    fn driver(&self, patience: Duration) -> Adb {
        let program = "/nonexistent/adb".into();
        Adb::new(AdbSettings { port: self.port, program, patience, ..AdbSettings::default() })
    }

    /// Number of requests that contain a text.
    fn asked(&self, what: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.contains(what)).count()
    }
}

/// `OKAY` and a counted answer, as host services give it.
fn block(text: &str) -> Reply {
    Reply::Last(format!("OKAY{:04x}{text}", text.len()).into_bytes())
}

/// `OKAY`, the packets of the second shell protocol, and the end.
fn ran(out: &str, code: u8) -> Reply {
    let mut bytes = b"OKAY\x01".to_vec();
    bytes.extend(u32::try_from(out.len()).unwrap().to_le_bytes());
    bytes.extend(out.as_bytes());
    bytes.extend([3, 1, 0, 0, 0, code]);
    Reply::Last(bytes)
}

async fn serve(mut stream: TcpStream, answer: Arc<impl Fn(&str) -> Reply>, seen: Arc<Mutex<Vec<String>>>) {
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request.clone());
        match answer(&request) {
            Reply::Then(bytes) => stream.write_all(&bytes).await.unwrap(),
            Reply::Last(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                // Reads the rest of the driver's bytes, or the end would look like a broken connection.
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
                return;
            }
            Reply::Silence => std::future::pending().await,
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut digits = [0; 4];
    stream.read_exact(&mut digits).await.ok()?;
    let length = usize::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap();
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(String::from_utf8(bytes).unwrap())
}
