//! Every route is given what no honest caller sends: nothing may break, and nothing may change.
//!
//! Requests that could be valid by accident name things that do not exist, so that the server must reject all of them
//! or do nothing. A route that the server describes and this test has no body for fails it.

mod values;

use muster_tests::{Answer, Client, Event, FakeNode, FakeSimWorker, Request, Route, Server};
use serde_json::{Value, json};
use std::io;
use values::Base;

/// I9, N6, Q15: no hostile request breaks the server, makes it panic or changes anything.
#[test]
fn nothing_hostile_breaks_or_changes_anything() {
    // A route that waits for what never comes shows as one that gave up.
    let server = Server::with(&[
        ("MUSTER_SERVER__REQUEST_TIMEOUT_S", "31"),
        ("MUSTER_NODES__OFFLINE_AFTER_S", "3600"),
        ("MUSTER_NODES__HEARTBEAT_S", "3600"),
        // The scene's simulation workers say nothing, and stay what they are.
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "60000"),
        ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "100"),
    ]);
    let scene = Scene::set(&server);
    let before = server.database().dump(&SETTLED_ELSEWHERE);
    let mut battery = Battery { scene: &scene, sent: 0 };
    for route in server.routes() {
        battery.addresses(&route);
        battery.queries(&route);
        // A stream that is not refused never ends.
        if route.path != "/api/events" {
            battery.headers(&route);
            battery.lengths(&route);
        }
        match values::of(&route.method, &route.path, &scene.run) {
            Some(bases) if route.has_body() => bases.iter().for_each(|base| battery.bodies(&route, base)),
            None if !route.has_body() => {}
            _ => panic!("{} {}: say in values.rs what its body is", route.method, route.path),
        }
    }
    println!("{} hostile requests", battery.sent);
    unchanged(&before, &server.database().dump(&SETTLED_ELSEWHERE));
    assert_eq!(server.database().column("PRAGMA integrity_check"), ["ok"]);
    assert!(!server.log().contains(" ERROR "), "{}", errors(&server.log()));
    scene.goes_on(&server);
}

/// Data that could be damaged.
struct Scene {
    node: FakeNode,
    admin: Client,
    worker: Client,
    enroller: Client,
    member: Client,
    member_token: String,
    node_secret: String,
    admin_token: String,
    worker_token: String,
    enrol_secret: String,
    run: String,
    job: Value,
}

/// Callers that an operation is for.
#[derive(Clone, Copy)]
enum Whose {
    Nodes,
    Workers,
    Enrollers,
    Operators,
    Users,
}

struct Battery<'s> {
    scene: &'s Scene,
    sent: usize,
}

impl Scene {
    fn set(server: &Server) -> Self {
        let node = FakeNode::enrolled(server.node(), "PC-01", 3);
        let admin = server.admin();
        let body = json!({"workflow_id": "w", "params": {}, "scope": {"pcs": ["PC-01"]}});
        let submit =
            Request::new("POST", "/api/runs").header("Idempotency-Key", values::USED_KEY).json(&body);
        let run = admin.send(submit).expect(201)["run_id"].as_str().unwrap().to_owned();
        let schedule = Request::new("POST", "/api/schedules").header("Idempotency-Key", values::USED_KEY);
        let _ = admin.send(schedule.json(&values::schedule("of another body"))).expect(201);
        let job = node.job();
        node.tell(&Event::started("PC-01", &job));
        // The others wait, so that work handed out by accident would show.
        let _ = admin.patch("/api/pcs/PC-01", &json!({"max_devices": 1})).expect(200);
        let enrol_secret = server.enrol_secret();
        let worker = FakeSimWorker::registered(server, "W1").client;
        let _ = FakeSimWorker::registered(server, values::QUARANTINED);
        let reason = json!({"reason": "it shall not work"});
        let path = format!("/api/v1/workers/{}/quarantine", values::QUARANTINED);
        let _ = admin.post(&path, &reason).expect(200);
        let _ = admin.post("/api/v1/sessions", &values::session(values::USED_SESSION, 7)).expect(201);
        let _ =
            admin.post(&format!("/api/v1/sessions/{}/pause", values::USED_SESSION), &json!({})).expect(200);
        let member_token = member(server);
        Self {
            member: server.anonymous().with_token(&member_token),
            member_token,
            worker_token: worker.token().unwrap().to_owned(),
            worker,
            enroller: server.anonymous().with_token(&enrol_secret),
            node_secret: server.node_secret(),
            admin_token: server.admin_token(),
            enrol_secret,
            node,
            admin,
            run,
            job,
        }
    }

    /// The honest are served as before.
    fn goes_on(&self, server: &Server) {
        self.node.tell(&Event::succeeded("PC-01", &self.job));
        for _ in 0..2 {
            self.node.succeed(&self.node.job());
        }
        assert_eq!(server.run(&self.run)["status"], "success");
    }
}

impl<'s> Battery<'s> {
    /// Ids that are paths, controls, encodings, numbers, endless.
    fn addresses(&mut self, route: &Route) {
        if !route.path.contains('{') {
            return;
        }
        for id in values::ids() {
            let path = route
                .path
                .replace("{kind}", "run")
                .replace("{id}", &id)
                .replace("{path}", &id)
                .replace("{name}", &id);
            self.send(route, Request::new(&route.method, &path).json(&json!({})));
            if route.path.contains("{kind}") {
                let path = route.path.replace("{kind}", &id).replace("{id}", "x");
                self.send(route, Request::new(&route.method, &path));
            }
        }
    }

    fn queries(&mut self, route: &Route) {
        if route.method != "GET" {
            return;
        }
        for query in values::queries() {
            // A stream that is not refused never ends, and a node that is named is enrolled.
            let fits = match route.path.as_str() {
                "/api/events" => query.starts_with("after="),
                "/api/nodes/pull" => !query.starts_with("node_id="),
                _ => true,
            };
            if fits {
                let path = values::of_nobody(&route.path);
                self.send(route, Request::new("GET", &format!("{path}?{query}")));
            }
        }
    }

    fn headers(&mut self, route: &Route) {
        let path = values::of_nobody(&route.path);
        for (name, value) in values::headers() {
            self.send(route, Request::new(&route.method, &path).header(&name, &value));
        }
        let mut many = Request::new(&route.method, &path);
        for n in 0..300 {
            many = many.header(&format!("x-{n}"), "y");
        }
        self.send(route, many);
    }

    /// Bodies whose length is a lie.
    fn lengths(&mut self, route: &Route) {
        let path = values::of_nobody(&route.path);
        let (client, token) = self.caller(route);
        for lie in [
            "content-length: -1",
            "content-length: 99999999999999999999",
            "content-length: 1000000",
            "content-length: 2\r\ncontent-length: 3",
            "content-length: 5\r\ntransfer-encoding: chunked",
            "transfer-encoding: gzip, chunked, chunked",
            "transfer-encoding: chunked",
        ] {
            self.sent += 1;
            let head = format!("{} {path} HTTP/1.1\r\nhost: localhost\r\n", route.method);
            let bytes = format!(
                "{head}authorization: Bearer {token}\r\nconnection: close\r\n{lie}\r\n\r\nffffffffff\r\n{{"
            );
            // To say nothing to somebody who broke off is fine.
            if let Ok(answer) = client.send_bytes(bytes.as_bytes()) {
                judge(Ok(answer), &bytes);
            }
        }
    }

    fn caller(&self, route: &Route) -> (&'s Client, &'s str) {
        let scene = self.scene;
        match whose(route) {
            Whose::Nodes => (scene.node.client(), &scene.node_secret),
            Whose::Workers => (&scene.worker, &scene.worker_token),
            Whose::Enrollers => (&scene.enroller, &scene.enrol_secret),
            // A change that a login makes to itself is no harm, and would end the login that this test uses.
            Whose::Users if route.path.starts_with("/auth/") => (&scene.admin, &scene.admin_token),
            Whose::Users => (&scene.member, &scene.member_token),
            Whose::Operators => (&scene.admin, &scene.admin_token),
        }
    }

    fn bodies(&mut self, route: &Route, base: &Base) {
        for body in values::bodies(&base.body) {
            self.send(route, base.request(route, body));
        }
        for content_type in values::CONTENT_TYPES {
            let body = base.body.to_string().into_bytes();
            self.send(route, base.request(route, body).header("content-type", content_type));
        }
        for pointer in values::pointers(&base.body) {
            for value in values::values() {
                if !base.may_be(&pointer, &value) {
                    self.send(route, base.request(route, values::replaced(&base.body, &pointer, &value)));
                }
            }
            self.send(route, base.request(route, values::removed(&base.body, &pointer)));
        }
    }

    fn send(&mut self, route: &Route, request: Request) {
        self.sent += 1;
        let said = format!("{request:?}");
        judge(self.caller(route).0.try_send(request), &said);
    }
}

/// Refused or harmless, in the contract's form; never broken.
fn judge(answer: io::Result<Answer>, said: &str) {
    let answer = answer.unwrap_or_else(|error| panic!("{error} after {said:.2000}"));
    // Nothing here is too much at once, so that not even 503 is in order.
    assert!(answer.status < 500, "{} after {said:.2000}", answer.status);
    if answer.status >= 400 && !answer.body.is_empty() {
        let _ = answer.problem(answer.status);
    }
}

fn whose(route: &Route) -> Whose {
    let security = &route.operation["security"][0];
    let is_for = |name: &str| security.get(name).is_some();
    match () {
        () if is_for("node") => Whose::Nodes,
        () if is_for("worker") => Whose::Workers,
        () if is_for("enrolment") => Whose::Enrollers,
        () if is_for("user") => Whose::Users,
        () => Whose::Operators,
    }
}

/// Adds a user who may do everything, and leaves of each thing as much behind that no more can be made by accident; gives
/// their token.
fn member(server: &Server) -> String {
    let member = server.user(values::TAKEN, &["CLIENT", "WORKER_OWNER", "OPERATOR", "ADMIN"]);
    let _ = member.post("/workers/register", &json!({"name": values::TAKEN})).expect(201);
    let job = json!({"payload": "of another body"});
    let _ = member
        .send(Request::new("POST", "/jobs").header("Idempotency-Key", values::USED_KEY).json(&job))
        .expect(201);
    let key = |n: u32| member.post("/api-keys", &json!({"name": n.to_string()})).json();
    let first = key(0);
    assert_eq!((1..10_000).map(key).find(|made| made["key"].is_null()).unwrap()["status"], 409);
    // A login ends after a while; a key does not.
    first["key"].as_str().unwrap().to_owned()
}

fn unchanged(before: &[String], after: &[String]) {
    let lost: Vec<_> = before.iter().filter(|row| !after.contains(row)).collect();
    let new: Vec<_> = after.iter().filter(|row| !before.contains(row)).collect();
    assert!(lost.is_empty() && new.is_empty(), "lost {lost:#?}, new {new:#?}");
}

fn errors(log: &str) -> String {
    log.lines().filter(|line| line.contains(" ERROR ")).take(5).collect::<Vec<_>>().join("\n")
}

/// The feed tells of the rows, and meta counts.
const SETTLED_ELSEWHERE: [&str; 2] = ["feed", "meta"];
