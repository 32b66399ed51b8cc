//! Vendors' programs.

use crate::drivers::{Order, shown};
use muster_agent::driver::{Cause, StepFailure, StepOutput, vendor::Vendor};
use muster_tests::{VendorReply, VendorServer, wait_until};
use serde_json::{Value, json};
use std::{
    io::Write,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

fn success(data: &Value) -> VendorReply {
    VendorReply::Text(json!({"code": 10000, "message": "SUCCESS", "data": data}).to_string())
}

/// Gives back what it was sent.
fn echo(request: &Value) -> VendorReply {
    success(&request["data"])
}

async fn say(vendor: &Vendor, word: &str) -> Result<StepOutput, StepFailure> {
    Order::vendor("SER1", "say", &[("word", json!(word))]).by_vendor(vendor).await
}

fn said(word: &str) -> StepOutput {
    StepOutput { text: Some(json!({"word": word}).to_string()), file: None }
}

/// N8, N23: the program's list names devices for good and says what reaches them.
#[tokio::test]
async fn devices_are_listed() {
    let server = VendorServer::start(|request| {
        assert_eq!(*request, json!({"action": "list"}));
        success(&json!([
            {"serial": "10.0.0.7:5555", "onlySerial": "SER1", "name": "desk", "mode": 1},
            {"serial": "SER2"},
            {"serial": "10.0.0.9:5555", "onlySerial": "SER1"},
            {"serial": "all"},
            7,
        ]))
    });
    let vendor = Vendor::new(&server.url());
    assert!(!vendor.is_connected());
    let expected = ["SER1 by 10.0.0.7:5555 Online", "SER2 by SER2 Online"];
    assert_eq!(shown(&vendor.discover().await.unwrap()), expected);
    assert!(vendor.is_connected());
}

/// N13, N23: a list that is none is a failure of the channel.
#[tokio::test]
async fn a_list_that_is_none_is_a_failure() {
    for (reply, cause) in [
        (json!({"code": 10000, "data": {}}), Cause::VendorWs),
        (json!({"code": 10000}), Cause::VendorWs),
        (json!({"code": 10001}), Cause::VendorCommand),
    ] {
        let server = VendorServer::start(move |_| VendorReply::Text(reply.to_string()));
        let vendor = Vendor::new(&server.url());
        assert_eq!(vendor.discover().await.unwrap_err().cause, cause);
        assert_eq!(vendor.is_connected(), cause == Cause::VendorCommand);
    }
}

/// N23: a step is one action on one device, over a connection that is used again.
#[tokio::test]
async fn a_step_is_one_action_on_one_device() {
    let server = VendorServer::start(echo);
    let vendor = Vendor::new(&server.url());
    let order =
        Order::vendor("10.0.0.7:5555", "inputText", &[("content", json!("it's; $(x)")), ("n", json!([1]))]);
    let output = order.by_vendor(&vendor).await.unwrap();
    let data = json!({"content": "it's; $(x)", "n": [1]});
    assert_eq!(output, StepOutput { text: Some(data.to_string()), file: None });
    assert_eq!(server.seen(), [json!({"action": "inputText", "devices": "10.0.0.7:5555", "data": data})]);
    assert_eq!(say(&vendor, "again").await.unwrap(), said("again"));
    assert_eq!(server.opened(), 1);
}

/// N18, N23: a handle that would mean more than one device is refused, and so is a step without an action.
#[tokio::test]
async fn nothing_is_sent_to_more_than_one_device() {
    let server = VendorServer::start(echo);
    let vendor = Vendor::new(&server.url());
    for (handle, action) in [("all", "reboot"), ("SER1,SER2", "reboot"), ("", "reboot"), ("SER1", "")] {
        let failure = Order::vendor(handle, action, &[]).by_vendor(&vendor).await.unwrap_err();
        assert_eq!(failure.cause, Cause::Other, "{failure}");
    }
    assert_eq!((server.seen(), server.opened()), (vec![], 0));
}

/// N13: a refusal is the command's failure, not the channel's.
#[tokio::test]
async fn a_refusal_is_the_commands_failure() {
    let reply = r#"{"code":10001,"message":"device is busy"}"#;
    let server = VendorServer::start(|_| VendorReply::Text(reply.to_owned()));
    let vendor = Vendor::new(&server.url());
    let failure = say(&vendor, "x").await.unwrap_err();
    assert_eq!(failure.cause, Cause::VendorCommand);
    assert_eq!(failure.message, "the vendor's program answered 10001: device is busy");
    assert!(vendor.is_connected());
    say(&vendor, "x").await.unwrap_err();
    assert_eq!(server.opened(), 1);
}

/// N8, N13: a program that is not there, or is none, is a failure of the channel.
#[tokio::test]
async fn a_program_that_is_not_there_is_a_failure_of_the_channel() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let strange = stranger.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = stranger.accept() {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n");
        }
    });
    for url in [
        format!("ws://{free}"),
        format!("ws://{strange}"),
        "wss://127.0.0.1:1".to_owned(),
        "no url".to_owned(),
    ] {
        let vendor = Vendor::new(&url);
        let failure = say(&vendor, "x").await.unwrap_err();
        assert_eq!(failure.cause, Cause::VendorWs, "{failure}");
        assert!(failure.message.starts_with(&url), "{failure}");
        assert!(!vendor.is_connected());
        assert_eq!(vendor.discover().await.unwrap_err().cause, Cause::VendorWs);
    }
}

/// N13, N23: whatever becomes of a command that was sent, it is not sent again, and the next has a connection of its own.
#[tokio::test]
async fn a_command_that_was_sent_is_not_sent_again() {
    let large = format!(r#"{{"code":10000,"data":"{}"}}"#, "x".repeat(2 << 20));
    for reply in [
        VendorReply::Close,
        VendorReply::Crash,
        VendorReply::Text("garbage".to_owned()),
        VendorReply::Text(r#"{"ok":true}"#.to_owned()),
        VendorReply::Text(large),
    ] {
        let answer = reply.clone();
        let first = AtomicBool::new(true);
        let server = VendorServer::start(move |request| match first.swap(false, Ordering::SeqCst) {
            true => answer.clone(),
            false => echo(request),
        });
        let vendor = Vendor::new(&server.url());
        let failure = say(&vendor, "once").await.unwrap_err();
        assert_eq!(failure.cause, Cause::VendorWs, "{failure}");
        assert!(failure.message.len() < 2000 && !vendor.is_connected());
        assert_eq!(say(&vendor, "next").await.unwrap(), said("next"));
        assert_eq!((server.seen().len(), server.opened()), (2, 2));
        assert!(vendor.is_connected());
    }
}

/// N18, N23: a command that was given up takes its connection with it, so that its answer reaches nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_leaves_no_answer_behind() {
    let server = VendorServer::start(|request| match request["data"]["word"] == "slow" {
        true => VendorReply::Silence,
        false => echo(request),
    });
    let vendor = Arc::new(Vendor::new(&server.url()));
    assert_eq!(say(&vendor, "quick").await.unwrap(), said("quick"));
    let order = Order::vendor("SER1", "say", &[("word", json!("slow"))]);
    let (cancel, stepping) = (order.cancel.clone(), Arc::clone(&vendor));
    let step = tokio::spawn(async move { order.by_vendor(&stepping).await });
    wait_until("the command", || server.seen().len() == 2);
    cancel.cancel();
    assert_eq!(step.await.unwrap().unwrap_err().cause, Cause::Cancelled);
    wait_until("the end of the connection", || server.open() == 0);
    assert_eq!(say(&vendor, "next").await.unwrap(), said("next"));
    assert_eq!(server.opened(), 2);
}

/// N23: an idle connection that broke, or said what nobody asked for, is replaced before anything is sent on it.
#[tokio::test]
async fn a_connection_in_doubt_is_replaced() {
    let server = VendorServer::start(|request| match (request["data"]["word"].as_str(), echo(request)) {
        (Some("twice"), VendorReply::Text(text)) => VendorReply::Twice(text),
        (_, reply) => reply,
    });
    let vendor = Vendor::new(&server.url());
    assert_eq!(say(&vendor, "first").await.unwrap(), said("first"));
    server.hang_up();
    let_the_runtime_look().await;
    assert_eq!(say(&vendor, "second").await.unwrap(), said("second"));
    assert_eq!(say(&vendor, "twice").await.unwrap(), said("twice"));
    let_the_runtime_look().await;
    assert_eq!(say(&vendor, "third").await.unwrap(), said("third"));
    assert_eq!((server.seen().len(), server.opened()), (4, 3));
}

/// N18, N23: commands at once keep their answers apart, and few connections outlive them.
#[tokio::test(flavor = "multi_thread")]
async fn commands_at_once_keep_their_answers_apart() {
    let server = VendorServer::start(echo);
    let vendor = Arc::new(Vendor::new(&server.url()));
    let words: Vec<_> = (0..40).map(|number| format!("word {number}")).collect();
    let step = |word: String| {
        let vendor = Arc::clone(&vendor);
        tokio::spawn(async move { say(&vendor, &word).await })
    };
    let steps: Vec<_> = words.iter().cloned().map(step).collect();
    for (word, step) in words.iter().zip(steps) {
        assert_eq!(step.await.unwrap().unwrap(), said(word));
    }
    wait_until("few connections", || server.open() <= 8);
    assert_eq!(server.seen().len(), 40);
}

/// The runtime of these tests is this very thread; it looks at its sockets when the thread yields.
async fn let_the_runtime_look() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}
