//! Phones behind a vendor's program.

use crate::{
    backend::{Backend, CALLBACK},
    counts, ended, enrolled, entered, fields, submit,
    workshop::Workshop,
};
use muster_tests::{AgentSetup, Server, VendorReply, VendorServer, until};
use serde_json::{Value, json};
use std::net::TcpListener;

/// N23: a run with steps of a vendor's kind; devices go by their serial and are reached by what reaches them now.
#[test]
fn a_vendors_phones_do_as_they_are_told() {
    let vendor = vendor();
    let steps = "
        [[steps]]
        id = 'WAKE'
        kind = 'vendor'
        action = 'screen'
        params = { on = true, text = '{{TEXT}}' }
        timeoutMs = 9000
        [[steps]]
        id = 'IS_AWAKE'
        kind = 'assert'
        params = { contains = '\"on\":true' }
        timeoutMs = 1000";
    let workshop = Workshop::new(&[]).workflow("wake_v1", steps);
    let server = Server::start();
    let setup = AgentSetup::of(&server, "PC-01").devices(&format!("vendor:{}", vendor.url()));
    let _agent = setup.args(&["--workflows", workshop.workflows().to_str().unwrap()]).start();
    enrolled(&server, "PC-01", 2);
    let run = submit(&server, "wake_v1", json!({"TEXT": "it's \"me\""}));
    assert_eq!(counts(&ended(&server, &run)), (2, 0));
    let mut asked: Vec<Value> =
        vendor.seen().into_iter().filter(|request| request["action"] == "screen").collect();
    asked.sort_by_key(|request| request["devices"].as_str().unwrap().to_owned());
    let data = json!({"on": true, "text": "it's \"me\""});
    let expected = ["10.0.0.7:5555", "SER2"]
        .map(|devices| json!({"action": "screen", "devices": devices, "data": data}));
    assert_eq!(asked, expected);
    let mut told: Vec<_> = entered(&server, "task_started")
        .iter()
        .map(|event| (fields(event)["device_id"].to_string(), fields(event)["runtime_handle"].to_string()))
        .collect();
    told.sort();
    let expected = [("\"SER1\"", "\"10.0.0.7:5555\""), ("\"SER2\"", "\"SER2\"")];
    assert_eq!(told, expected.map(|(device, handle)| (device.to_owned(), handle.to_owned())));
}

/// N8, N23: heartbeats tell whether the vendor's program is there.
#[test]
fn heartbeats_tell_of_the_vendors_program() {
    let vendor = vendor();
    for (url, is_there) in [(vendor.url(), true), ("ws://127.0.0.1:1".to_owned(), false)] {
        let backend = Backend::start();
        let _agent = AgentSetup::new(&backend.url(), "PC-01").devices(&format!("vendor:{url}")).start();
        let beat = until("a heartbeat", || {
            let heard = backend.heard(CALLBACK).into_iter().map(|heard| heard.body);
            heard.into_iter().find(|event| event["type"] == "node_heartbeat")
        });
        let (told, count) = (&beat["payload"], if is_there { 2 } else { 0 });
        assert_eq!(
            (&told["vendor_ws_ok"], &told["connected_devices_count"]),
            (&json!(is_there), &json!(count))
        );
    }
}

/// N23: a program that is not there is looked for again and again, and one line of the log says so.
#[test]
fn a_vendors_program_that_is_gone_is_named_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = Backend::start();
    let url = format!("vendor:ws://{}", listener.local_addr().unwrap());
    let agent = AgentSetup::new(&backend.url(), "PC-01").devices(&url).start();
    // Each look is a connection, which ends at once.
    (0..3).for_each(|_| drop(listener.accept().unwrap()));
    assert_eq!(agent.log().matches("devices cannot be listed").count(), 1, "{}", agent.log());
}

fn vendor() -> VendorServer {
    VendorServer::start(|request| {
        let data = match request["action"].as_str() {
            Some("list") => json!([{"serial": "10.0.0.7:5555", "onlySerial": "SER1"}, {"serial": "SER2"}]),
            _ => request["data"].clone(),
        };
        VendorReply::Text(json!({"code": 10000, "message": "SUCCESS", "data": data}).to_string())
    })
}
