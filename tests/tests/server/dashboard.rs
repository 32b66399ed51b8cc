//! The dashboard: its pages, and the figures of the overview and the fleet.

use muster_tests::{Answer, FakeNode, Request, Server, now_ms, until};
use serde_json::{Value, json};

fn ask(server: &Server, method: &str, path: &str) -> Answer {
    server.anonymous().send(Request::new(method, path))
}

/// I7: anybody gets the page and all it names, and every answer tells a browser to load, run and show nothing else.
#[test]
fn the_page_is_open_and_strict() {
    let server = Server::start();
    let page = ask(&server, "GET", "/");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let text = page.text();
    let mut named = vec!["/".to_owned(), "/ui/index.html".to_owned(), "/ui/nobody.js".to_owned()];
    for attribute in ["src=\"", "href=\""] {
        let values = text.split(attribute).skip(1).map(|value| value.split('"').next().unwrap());
        named.extend(values.map(str::to_owned));
    }
    for path in &named {
        assert!(path.starts_with('/') && !path.starts_with("//"), "{path} is not ours");
        let answer = ask(&server, "GET", path);
        assert_eq!(answer.status, if path.contains("nobody") { 404 } else { 200 }, "{path}");
        assert_eq!(answer.header("content-security-policy"), Some(POLICY), "{path}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path} {name}");
        }
    }
    for inline in ["style=", "<style", "onclick", "onload", "javascript:"] {
        assert!(!text.contains(inline), "{inline} would not work");
    }
}

/// I7, I9: dozens of files at once are no flood, however strictly callers are counted.
#[test]
fn a_page_loads_under_strict_rates() {
    let server =
        Server::with(&[("MUSTER_SERVER__RATE_PER_ADDRESS", "1"), ("MUSTER_SERVER__RATE_BURST", "1")]);
    for _ in 0..100 {
        assert_eq!(ask(&server, "GET", "/ui/index.html").status, 200);
    }
    let statuses: Vec<u16> = (0..20).map(|_| server.admin().get("/api/runs").status).collect();
    assert!(statuses.contains(&429), "others are counted: {statuses:?}");
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn overview(server: &Server) -> Value {
    server.admin().get("/api/overview").expect(200)
}

fn sum(series: &Value) -> u64 {
    let series = series.as_array().unwrap();
    assert_eq!(series.len(), 60);
    series.iter().map(|count| count.as_u64().unwrap()).sum()
}

/// Q13, Q10, Q11: devices, slots, runs, throughput and failures are those of what a node did.
#[test]
fn the_figures_are_those_of_what_was_done() {
    let server = Server::with(&[("MUSTER_OPERATIONS__MAX_ATTEMPTS", "1"), ("MUSTER_OPERATIONS__SLOTS", "6")]);
    let before = now_ms();
    until("the feed is counted", || overview(&server)["counting_since"].as_i64().filter(|since| *since > 0));
    let node = FakeNode::enrolled(server.node(), "PC-01", 10);
    let _ = FakeNode::enrolled(server.node(), "PC-02", 2);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let waiting = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let jobs = node.jobs(6);
    jobs[..3].iter().for_each(|job| node.succeed(job));
    jobs[3..5].iter().for_each(|job| node.fail(job));
    let seen = until("all of it is counted", || {
        let seen = overview(&server);
        (sum(&seen["throughput"]["tasks_failed"]) == 2 && seen["devices"]["error"] == 2).then_some(seen)
    });
    assert_eq!(seen["nodes"], json!({"online": 2, "offline": 0, "draining": 0}));
    assert_eq!(seen["devices"], json!({"total": 12, "idle": 9, "running": 1, "offline": 0, "error": 2}));
    assert_eq!(seen["slots"], json!({"used": 1, "target": 8}), "six of eight there, and two here");
    assert_eq!(seen["runs"], json!({"pending": 1, "running": 1}));
    assert_eq!(seen["sessions"], json!({"pending": 0, "running": 0, "paused": 0}));
    assert_eq!(seen["oldest_waiting"]["kind"], "run");
    assert_eq!(seen["oldest_waiting"]["id"], json!(waiting));
    assert!(seen["oldest_waiting"]["since"].as_i64().unwrap() >= before - 1000);
    assert_eq!(sum(&seen["throughput"]["tasks_ok"]), 3);
    assert_eq!(seen["throughput"]["bucket_ms"], 10_000);
    assert_eq!(seen["failures"][0]["contract"], "nodes");
    assert_eq!(seen["failures"][0]["reason"], "adb_offline");
    assert_eq!(seen["failures"][0]["count"], 2);
    assert_eq!(seen["leader"]["store"], "sqlite");
    assert_eq!(seen["leader"]["epoch"], 1);
    assert_eq!(seen["alerts"], json!([]));
}

/// Q13: what waits in a session and in the pool is counted and named.
#[test]
fn other_contracts_are_counted() {
    let server = Server::start();
    let session = json!({"sessionId": "s1", "totalFrames": 10, "framesPerTask": 5, "scenario": {}, "cameras": ["front"],
        "qualityMode": "strict"});
    assert!(server.admin().post("/api/v1/sessions", &session).is_success());
    let client = server.user("carl", &["CLIENT"]);
    let _ = client.post("/jobs", &json!({"payload": {"n": 1}})).expect(201);
    let seen = until("both are counted", || {
        let seen = overview(&server);
        (seen["pool"]["jobs_waiting"] == 1 && seen["sessions"]["pending"] == 1).then_some(seen)
    });
    assert_eq!(
        seen["pool"],
        json!({"jobs_waiting": 1, "jobs_running": 0, "workers_online": 0, "workers": 0, "workers_banned": 0})
    );
    assert_eq!(seen["oldest_waiting"]["kind"], "session");
    assert_eq!(seen["oldest_waiting"]["id"], "s1");
}

/// I10, I6: each setting says where it came from and what it would be otherwise; nothing secret is among them.
#[test]
fn settings_say_where_they_came_from() {
    let server = Server::with(&[("MUSTER_OPERATIONS__SLOTS", "7")]);
    let answer = server.admin().get("/api/settings");
    let settings = answer.expect(200)["settings"].as_array().unwrap().clone();
    let named = |name: &str| settings.iter().find(|setting| setting["name"] == name).unwrap().clone();
    let expected = json!({"name": "operations.slots", "value": 7, "from": "environment MUSTER_OPERATIONS__SLOTS",
        "default": 20});
    assert_eq!(named("operations.slots"), expected);
    assert_eq!(named("server.listen")["from"], "flag --listen");
    assert_eq!(
        named("nodes.lease_s"),
        json!({"name": "nodes.lease_s", "value": 300, "from": "default", "default": 300})
    );
    for secret in [server.admin_token(), server.node_secret(), server.enrol_secret()] {
        assert!(!answer.text().contains(&secret));
    }
}
