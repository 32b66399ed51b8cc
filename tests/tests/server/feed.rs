//! Pages, metrics, the offline docs, the feed and snapshots: what a page believes after a snapshot and the feed is what a later
//! snapshot shows (I7, I8, I10).

use muster_tests::{Event, EventStream, FakeNode, FeedEvent, Request, Server, until, wait_until};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// I8, I7: metrics need a token unless a setting opens them.
#[test]
fn metrics_need_a_token() {
    let server = Server::start();
    assert_eq!(server.anonymous().get("/metrics").status, 401);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let metrics = server.admin().get("/metrics");
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    assert!(text.contains("# TYPE") && text.ends_with("# EOF\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(!text.contains("PC-01"), "no names of devices or nodes");
    let open = Server::with(&[("MUSTER_SERVER__PUBLIC_METRICS", "true")]);
    assert_eq!(open.anonymous().get("/metrics").status, 200);
}

/// I8: the page of the description loads nothing from elsewhere, and could not.
#[test]
fn the_docs_work_offline() {
    let server = Server::start();
    let page = server.anonymous().get("/docs");
    assert_eq!(page.status, 200);
    let text = page.text();
    for target in named_in(&text).into_iter().filter(|target| !target.starts_with("data:")) {
        assert!(target.starts_with('/') && !target.starts_with("//"), "{target} is not ours");
        assert_eq!(server.anonymous().get(&target).status, 200, "{target}");
    }
    assert!(!text.contains("@import") && !text.contains("url("));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("http"), "{policy}");
}

fn after(server: &Server, last: u64) -> EventStream {
    let request = Request::new("GET", "/api/events").header("Last-Event-ID", &last.to_string());
    server.admin().stream(request).unwrap()
}

fn take(stream: &mut EventStream, count: usize) -> Vec<FeedEvent> {
    (0..count).map(|_| stream.next_event().unwrap()).collect()
}

/// I8: the feed tells everything in order, and `Last-Event-ID` goes on without a gap, across a kill -9.
#[test]
fn the_feed_resumes_over_a_kill() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let before = take(&mut after(&server, 0), 5);
    assert_eq!(before.iter().map(|event| event.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    server.kill9_and_restart();
    assert_eq!(take(&mut after(&server, 0), 5), before, "the same after the restart");
    let mut stream = after(&server, 2);
    assert_eq!(take(&mut stream, 3), before[2..]);
    for job in node.jobs(2) {
        node.succeed(&job);
    }
    let mut last = 5;
    loop {
        let event = stream.next_event().unwrap();
        assert_eq!(event.id, last + 1, "{event:?}");
        last = event.id;
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.kind == "job_ended" {
            assert_eq!((&data["job"], &data["status"]), (&json!(run), &json!("success")));
            break;
        }
    }
    assert_eq!(take(&mut after(&server, last - 1), 1)[0].kind, "job_ended");
}

/// I8: a stream without a number begins with the next entry; a number from the future is refused.
#[test]
fn the_feed_begins_where_asked() {
    let server = Server::start();
    let _ = server.submit(&json!({"workflow_id": "first", "params": {}}));
    let mut stream = server.admin().stream(Request::new("GET", "/api/events")).unwrap();
    let _ = server.submit(&json!({"workflow_id": "second", "params": {}}));
    let event = stream.next_event().unwrap();
    assert!(event.kind == "job_submitted" && event.data.contains("second"), "{event:?}");
    let _ = server.admin().get("/api/events?after=999999").problem(410);
}

/// Q13, Q10, Q11: the figures of the overview are those of the work that was done and of the work that waits.
#[test]
fn the_overview_shows_the_work_done() {
    let server = Server::with(&[
        ("MUSTER_OPERATIONS__MAX_ATTEMPTS", "1"),
        ("MUSTER_OPERATIONS__SLOTS", "6"),
        ("MUSTER_NODES__OFFLINE_AFTER_S", "3600"),
    ]);
    let overview = || server.admin().get("/api/overview").expect(200);
    wait_until("the feed is counted", || overview()["counting_since"].as_i64() > Some(0));
    let node = FakeNode::enrolled(server.node(), "PC-01", 10);
    let _ = FakeNode::enrolled(server.node(), "PC-02", 2);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let waiting = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let jobs = node.jobs(6);
    jobs[..3].iter().for_each(|job| node.succeed(job));
    jobs[3..5].iter().for_each(|job| node.fail(job));
    let session = json!({"sessionId": "s1", "totalFrames": 10, "framesPerTask": 5, "scenario": {}, "cameras": ["front"],
        "qualityMode": "strict"});
    let _ = server.admin().post("/api/v1/sessions", &session).expect(201);
    let _ = server.user("carl", &["CLIENT"]).post("/jobs", &json!({"payload": {"n": 1}})).expect(201);
    let expected = json!({
        "nodes": {"online": 2, "offline": 0, "draining": 0},
        "devices": {"total": 12, "idle": 9, "running": 1, "offline": 0, "error": 2},
        // Six of the eight devices of PC-01 that have not failed, and two of PC-02.
        "slots": {"used": 1, "target": 8},
        "runs": {"pending": 1, "running": 1},
        "sessions": {"pending": 1, "running": 0, "paused": 0},
        "pool": {"jobs_waiting": 1, "jobs_running": 0, "workers_online": 0, "workers": 0, "workers_banned": 0},
        "alerts": [],
    });
    let seen = until("all of it is counted", || {
        let seen = overview();
        let is_counted = sum(&seen["throughput"]["tasks_failed"]) == 2
            && seen["devices"]["error"] == 2
            && seen["pool"]["jobs_waiting"] == 1
            && seen["sessions"]["pending"] == 1;
        is_counted.then_some(seen)
    });
    for (name, figures) in expected.as_object().unwrap() {
        assert_eq!(&seen[name], figures, "{name}");
    }
    assert_eq!(sum(&seen["throughput"]["tasks_ok"]), 3);
    let oldest = &seen["oldest_waiting"];
    assert_eq!((&oldest["kind"], &oldest["id"]), (&json!("run"), &json!(waiting)));
    let failure = &seen["failures"][0];
    assert_eq!((&failure["contract"], &failure["reason"]), (&json!("nodes"), &json!("adb_offline")));
    assert_eq!(failure["count"], 2);
}

/// The total of a series of counts.
fn sum(series: &Value) -> u64 {
    series.as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
}

/// I1, I8, N3: the line is printed when all is ready: the feed resumes and nodes' own secrets work from then on.
#[test]
fn who_comes_with_the_first_line_is_served() {
    let mut server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 500);
    let rotated = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
    let own = server.anonymous().with_token(rotated["secret"].as_str().unwrap());
    let last = server.database().count("SELECT max(first_seq + count - 1) FROM feed");
    for _ in 0..5 {
        server.kill9_and_restart();
        let _ = after(&server, last.unsigned_abs());
        assert_eq!(own.get("/api/nodes/pull?node_id=PC-01").status, 200);
        assert_eq!(server.anonymous().get("/readyz").status, 200);
    }
}

/// I8, Q13: a snapshot and the entries after its number are together what a later snapshot says, whatever happened while
/// the snapshots were read. Entries that a snapshot had seen already change nothing.
#[test]
fn a_snapshot_and_the_feed_are_a_later_snapshot() {
    let server = Server::with(&[("MUSTER_OPERATIONS__MAX_ATTEMPTS", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 60);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let taken = AtomicUsize::new(0);
    let snapshots = thread::scope(|scope| {
        let working = scope.spawn(|| work(&server, &node, &taken));
        let mut snapshots: Vec<Value> = Vec::new();
        while !working.is_finished() {
            take_snapshot(&server, &mut snapshots);
            taken.store(snapshots.len(), Ordering::Relaxed);
        }
        snapshots
    });
    let last = until("a snapshot of the end", || {
        let snapshot = server.admin().get("/api/fleet").expect(200);
        let newest = server.database().count("SELECT max(first_seq + count - 1) FROM feed");
        (snapshot["seq"].as_i64() == Some(newest)).then_some(snapshot)
    });
    assert!(snapshots.len() > 1, "something was seen while it happened");
    for snapshot in &snapshots {
        assert_eq!(caught_up(&server, snapshot, &last), Believed::of(&last), "from {}", snapshot["seq"]);
    }
}

/// Keeps a snapshot, unless it is the one from before.
fn take_snapshot(server: &Server, snapshots: &mut Vec<Value>) {
    let snapshot = server.admin().get("/api/fleet").expect(200);
    if snapshots.last().is_none_or(|before| before["seq"] != snapshot["seq"]) {
        snapshots.push(snapshot);
    }
}

/// A busy minute of a fleet.
fn work(server: &Server, node: &FakeNode, taken: &AtomicUsize) {
    for round in 0..8 {
        wait_until("somebody looks meanwhile", || taken.load(Ordering::Relaxed) > round / 2);
        for (n, job) in node.jobs(5).iter().enumerate() {
            if n == round % 5 {
                node.fail(job);
            } else {
                node.succeed(job);
            }
        }
        let other = FakeNode::enrolled(server.node(), &format!("PC-1{round}"), 3);
        let _ = server.admin().post(&format!("/api/nodes/{}/drain", other.name), &json!({})).expect(200);
    }
    let _ = server.admin().post("/api/nodes/PC-10/resume", &json!({})).expect(200);
    let failed = server.admin().get("/api/devices?status=ERROR").expect(200);
    let failed = failed["devices"][0]["id"].as_str().or(failed["devices"][0]["device_id"].as_str()).unwrap();
    let _ = server.admin().post(&format!("/api/devices/{failed}/return"), &json!({"note": "n"})).expect(200);
    let running = node.jobs(3);
    node.tell(&Event::started(&node.name, &running[0]));
    list(node, |n| n >= 5 && n != 30);
    node.succeed(&running[1]);
    list(node, |n| n >= 2);
}

/// Has a node list some of its devices; those it leaves out are absent, whatever they are at.
fn list(node: &FakeNode, is_there: impl Fn(usize) -> bool) {
    let listed = node.listed();
    let there = listed.as_array().unwrap().iter().enumerate().filter(|(place, _)| is_there(*place));
    let devices: Vec<&Value> = there.map(|(_, device)| device).collect();
    let _ = node.ask(&json!({"node_id": node.name, "max_jobs": 0, "devices": devices})).expect(200);
}

/// State of a client that began with `snapshot` and read the feed up to `last`.
fn caught_up(server: &Server, snapshot: &Value, last: &Value) -> Believed {
    let (from, to) = (snapshot["seq"].as_u64().unwrap(), last["seq"].as_u64().unwrap());
    let mut believed = Believed::of(snapshot);
    if from == to {
        return believed;
    }
    let request = Request::new("GET", &format!("/api/events?after={from}"));
    let mut stream = server.admin().stream(request).unwrap();
    for expected in from + 1..=to {
        let event = stream.next_event().unwrap();
        assert_eq!(event.id, expected, "no gap");
        believed.apply(&event);
    }
    believed
}

/// Nodes and devices by id.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Believed {
    nodes: BTreeMap<String, Node>,
    devices: BTreeMap<String, Device>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    is_online: bool,
    is_draining: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Device {
    node: String,
    is_attached: bool,
    is_failed: bool,
    task: Option<String>,
}

impl Believed {
    /// State that a snapshot describes.
    fn of(snapshot: &Value) -> Self {
        let (mut nodes, mut devices) = (BTreeMap::new(), BTreeMap::new());
        for node in snapshot["nodes"].as_array().unwrap() {
            let (id, is_online) = (text(&node["node_id"]), node["status"] == "online");
            for device in node["devices"].as_array().unwrap() {
                let state = device[1].as_str().unwrap();
                let device_of = Device {
                    node: id.clone(),
                    is_attached: device[3].as_bool().unwrap(),
                    is_failed: state == "error",
                    task: device[2].as_str().map(str::to_owned),
                };
                devices.insert(text(&device[0]), device_of);
            }
            nodes.insert(id, Node { is_online, is_draining: node["draining"].as_bool().unwrap() });
        }
        Self { nodes, devices }
    }

    /// Takes an entry of the feed; one that it knows of changes nothing.
    fn apply(&mut self, event: &FeedEvent) {
        let body: Value = serde_json::from_str(&event.data).unwrap();
        match event.kind.as_str() {
            "worker_enrolled" | "worker_online" | "worker_resumed" | "worker_offline" | "worker_draining" => {
                self.change_node(&event.kind, &text(&body["worker"]));
            }
            "device_attached" => {
                let device = self.devices.entry(text(&body["device"])).or_insert_with(Device::nobodys);
                device.node = text(&body["worker"]);
                device.is_attached = body["online"] == true;
            }
            "device_online" | "device_offline" | "device_error" | "device_returned" | "task_leased" => {
                let device = self.devices.get_mut(body["device"].as_str().unwrap()).unwrap();
                device.change(&event.kind, &body);
            }
            "attempt_ended" => {
                let task = body["task"].as_str();
                let ran = self.devices.values_mut().filter(|device| device.task.as_deref() == task);
                ran.for_each(|device| device.task = None);
            }
            _ => {}
        }
    }

    fn change_node(&mut self, kind: &str, id: &str) {
        let node = self.nodes.entry(id.to_owned()).or_insert(Node { is_online: true, is_draining: false });
        match kind {
            "worker_online" => node.is_online = true,
            "worker_offline" => node.is_online = false,
            "worker_draining" => node.is_draining = true,
            "worker_resumed" => node.is_draining = false,
            _ => {}
        }
    }
}

impl Device {
    fn nobodys() -> Self {
        Self { node: String::new(), is_attached: false, is_failed: false, task: None }
    }

    fn change(&mut self, kind: &str, body: &Value) {
        match kind {
            "device_online" => self.is_attached = true,
            "device_offline" => self.is_attached = false,
            "device_error" => self.is_failed = true,
            "device_returned" => self.is_failed = false,
            _ => self.task = Some(text(&body["task"])),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The addresses that a page names.
fn named_in(page: &str) -> Vec<String> {
    let values = ["src=\"", "href=\""].iter().flat_map(|attribute| page.split(attribute).skip(1));
    values.map(|value| value.split('"').next().unwrap().to_owned()).collect()
}

/// I7: anybody gets the page and all it names, and every answer tells a browser to load, run and show nothing else.
#[test]
fn the_page_is_open_and_strict() {
    let server = Server::start();
    let page = server.anonymous().get("/");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let text = page.text();
    let mut named = vec!["/".to_owned(), "/ui/index.html".to_owned(), "/ui/nobody.js".to_owned()];
    named.extend(named_in(&text));
    for path in &named {
        assert!(path.starts_with('/') && !path.starts_with("//"), "{path} is not ours");
        let answer = server.anonymous().get(path);
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
        assert_eq!(server.anonymous().get("/ui/index.html").status, 200);
    }
    let statuses: Vec<u16> = (0..20).map(|_| server.admin().get("/api/runs").status).collect();
    assert!(statuses.contains(&429), "others are counted: {statuses:?}");
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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
