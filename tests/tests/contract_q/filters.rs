//! Words, filters and pages: Q8, Q15.

use crate::{cancel, run_in};
use muster_tests::{Event, FakeNode, Server};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn ids(answer: &Value, list: &str, id: &str) -> Vec<String> {
    answer[list].as_array().unwrap().iter().map(|item| item[id].as_str().unwrap().to_owned()).collect()
}

/// Q15: lists are paged by cursor, without a gap or a repeat, and filtered.
#[test]
fn lists_are_paged_and_filtered() {
    let server = Server::start();
    for pc in ["PC-01", "PC-02", "PC-03"] {
        let _ = FakeNode::enrolled(server.node(), pc, 4);
    }
    let mut runs: Vec<String> =
        (0..7).map(|n| server.submit(&run_in(if n == 3 { "night" } else { "day" }, 1))).collect();
    runs.reverse();
    assert_eq!(pages(&server, "/api/runs?limit=3", ("runs", "run_id")), runs, "newest first");
    assert_eq!(pages(&server, "/api/devices?limit=5", ("devices", "device_id")).len(), 12);
    assert_eq!(pages(&server, "/api/devices?limit=3&pc_id=PC-02", ("devices", "device_id")).len(), 4);
    assert_eq!(pages(&server, "/api/devices?limit=3&status=OFFLINE", ("devices", "device_id")).len(), 0);
    assert_eq!(pages(&server, "/api/pcs?limit=1", ("pcs", "pc_id")), ["PC-01", "PC-02", "PC-03"]);
    assert_eq!(pages(&server, "/api/runs?limit=1&queue=night", ("runs", "run_id")), [runs[3].clone()]);
    for (target, field) in [
        ("/api/runs?limit=0", "limit"),
        ("/api/runs?limit=1001", "limit"),
        ("/api/runs?limit=1&limit=2", "limit"),
        ("/api/devices?colour=red", "colour"),
        ("/api/devices?status=WELL", "status"),
        ("/api/pcs?queue=x", "queue"),
        ("/api/alerts?limit=x", "limit"),
    ] {
        assert_eq!(server.admin().get(target).problem(422)["field"], field, "{target}");
    }
}

fn pages(server: &Server, target: &str, (list, id): (&str, &str)) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = server.admin().get(&format!("{target}{after}")).expect(200);
        found.extend(ids(&page, list, id));
        match page.get("next") {
            Some(next) => after = format!("&after={}", muster_tests::percent_encode(next.as_str().unwrap())),
            None => return found,
        }
    }
}
