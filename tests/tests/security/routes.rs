//! Every route against every kind of caller, and what opens it, as the contracts say: I7, P1, P2, P13, P14.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_tests::{
    Answer, Client, FakeNode, FakeSimWorker, Request, Route, Server, password_of, wait_until,
};
use serde_json::{Value, json};
use sha2::Sha256;
use std::fs;

/// I7, P1, P2: each of all routes is closed to everybody but those it is for: 401 without a token that works (absent, broken,
/// expired, ended, of a disabled user), 403 with one of somebody else or of too low a role; nothing changes meanwhile.
#[test]
fn every_route_is_closed_to_everybody_else() {
    let mut server = Server::with(&SILENT);
    let callers = all(&mut server);
    let routes = routes(&server);
    let before = server.database().dump(&["feed", "meta"]);
    let mut refused = 0;
    for (route, guard, caller) in cases(&routes, &callers) {
        let expected = match caller.verdict(guard) {
            Verdict::Unauthorized => 401,
            Verdict::Forbidden => 403,
            Verdict::Through => continue,
        };
        let answer = ask(caller, route);
        let what = format!("{} with {}: {}", route.name(), caller.name, answer.text());
        if guard == Guard::Signature {
            // A token neither helps nor hinders: it is judged by its address alone.
            assert!([401, 403].contains(&answer.status), "{} {what}", answer.status);
        } else {
            assert_eq!(answer.status, expected, "{what}");
        }
        in_the_contracts_words(guard, &what, &answer);
        refused += 1;
    }
    assert_eq!(
        server.database().dump(&["feed", "meta"]),
        before,
        "a request that was refused changed something"
    );
    println!("{} routes, {} callers, {refused} refused", routes.len(), callers.len());
}

/// I7, P1, P2: and open to those: nobody who may is told 401 or 403.
#[test]
fn every_route_is_open_to_those_it_is_for() {
    let mut server = Server::with(&SILENT);
    let callers = all(&mut server);
    let routes = routes(&server);
    for (route, guard, caller) in cases(&routes, &callers) {
        // Those end the token, and a stream never ends.
        let is_apart = ["/auth/refresh", "/auth/logout", "/api/events"].contains(&route.path.as_str());
        if is_apart || caller.verdict(guard) != Verdict::Through {
            continue;
        }
        let answer = ask(caller, route);
        let is_of_another = caller.is_renderer() && answer.status == 403;
        let is_refused = [401, 403].contains(&answer.status) && !is_of_another;
        assert!(
            !is_refused && answer.status < 500,
            "{} with {}: {}",
            route.name(),
            caller.name,
            answer.text()
        );
    }
}

fn cases<'a>(
    routes: &'a [(Route, Guard)],
    callers: &'a [Caller],
) -> impl Iterator<Item = (&'a Route, Guard, &'a Caller)> {
    routes.iter().flat_map(move |(route, guard)| callers.iter().map(move |caller| (route, *guard, caller)))
}

fn ask(caller: &Caller, route: &Route) -> Answer {
    let request = Request::new(&route.method, &route.of_nobody());
    caller.client.send(if route.has_body() { request.json(&json!({})) } else { request })
}

/// P2: contract P has a text for each.
fn in_the_contracts_words(guard: Guard, what: &str, answer: &Answer) {
    if !matches!(guard, Guard::User | Guard::Client | Guard::Owner | Guard::Admin) {
        return;
    }
    let expected = if answer.status == 401 { "Invalid token" } else { "Insufficient role" };
    assert_eq!(answer.problem(answer.status)["detail"], expected, "{what}");
}

/// Those who are enrolled say nothing, and stay what they are.
const SILENT: [(&str, &str); 3] = [
    ("MUSTER_NODES__OFFLINE_AFTER_S", "3600"),
    ("MUSTER_SIMULATION__HEARTBEAT_MS", "60000"),
    ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "100"),
];

/// Caller with a token.
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) client: Client,
    kind: Kind,
}

enum Kind {
    Nobody,
    Node,
    Enroller,
    Renderer,
    /// A user with these roles, those that they imply left out.
    User(&'static [&'static str]),
}

/// Outcome of an access check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unauthorized,
    Forbidden,
    Through,
}

impl Caller {
    /// Outcome that the contracts require for this caller at a guard.
    pub(crate) fn verdict(&self, guard: Guard) -> Verdict {
        let is_through = match (guard, &self.kind) {
            (Guard::Open, _) => true,
            (Guard::Node | Guard::OperatorOrNode, Kind::Node)
            | (Guard::Enroller, Kind::Enroller)
            | (Guard::Renderer | Guard::ViewerOrRenderer | Guard::OperatorOrRenderer, Kind::Renderer) => true,
            (guard, Kind::User(roles)) => opened_by(guard).iter().any(|role| roles.contains(role)),
            _ => false,
        };
        // Contract P knows no other tokens than those of users (P2).
        let is_of_users = matches!(guard, Guard::User | Guard::Client | Guard::Owner | Guard::Admin);
        match &self.kind {
            _ if is_through => Verdict::Through,
            Kind::User(_) if guard == Guard::User => Verdict::Through,
            Kind::Nobody => Verdict::Unauthorized,
            Kind::User(_) => Verdict::Forbidden,
            _ if is_of_users => Verdict::Unauthorized,
            _ => Verdict::Forbidden,
        }
    }

    /// True if it is a simulation worker, who may be told no for what it asks about, too.
    pub(crate) fn is_renderer(&self) -> bool {
        matches!(self.kind, Kind::Renderer)
    }
}

/// The roles that open a door.
fn opened_by(guard: Guard) -> &'static [&'static str] {
    match guard {
        Guard::Viewer | Guard::ViewerOrLink | Guard::ViewerOrRenderer => &["VIEWER", "OPERATOR", "ADMIN"],
        Guard::Operator | Guard::OperatorOrNode | Guard::OperatorOrRenderer => &["OPERATOR", "ADMIN"],
        Guard::Client => &["CLIENT", "ADMIN"],
        Guard::Owner => &["WORKER_OWNER"],
        Guard::Admin => &["ADMIN"],
        Guard::Open | Guard::Signature | Guard::Node | Guard::Enroller | Guard::Renderer | Guard::User => &[],
    }
}

/// Brings them all to a server, which is restarted for it.
pub(crate) fn all(server: &mut Server) -> Vec<Caller> {
    let mut callers = ended(server);
    let mut add = |name: &str, token: Option<&str>, kind: Kind| {
        let client = token.map_or_else(|| server.anonymous(), |token| server.anonymous().with_token(token));
        callers.push(Caller { name: name.to_owned(), client, kind });
    };
    add("no token", None, Kind::Nobody);
    for wrong in ["wrong-wrong-wrong-wrong", "a.b.c", "mk_0000000000000000000000000000000000000000000"] {
        add(wrong, Some(wrong), Kind::Nobody);
    }
    for (name, token) in forged(server) {
        add(name, Some(&token), Kind::Nobody);
    }
    add("the nodes' secret", Some(&server.node_secret()), Kind::Node);
    let _ = FakeNode::enrolled(server.node(), "PC-09", 1);
    let own = server.admin().post("/api/nodes/PC-09/secret", &json!({})).expect(200);
    add("a node's own secret", own["secret"].as_str(), Kind::Node);
    add("the enrolment secret", Some(&server.enrol_secret()), Kind::Enroller);
    let worker = FakeSimWorker::registered(server, "W9");
    add("a simulation worker's token", worker.client.token(), Kind::Renderer);
    add("the admin token", Some(&server.admin_token()), Kind::User(&["ADMIN"]));
    users(server, &mut callers);
    callers
}

/// Tokens that somebody made who knows the server's key as they would a public one: another algorithm, none at all, and
/// claims of a login that there is not.
fn forged(server: &Server) -> Vec<(&'static str, String)> {
    let token = server.user("forger", &ALL).token().unwrap().to_owned();
    let [header, payload, _] = token.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts: {token}")
    };
    let key = fs::read_to_string(server.data().join("token-secret")).unwrap();
    let sign = |header: &str, payload: &str| {
        let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
        let mac = mac.chain_update(format!("{header}.{payload}")).finalize().into_bytes();
        format!("{header}.{payload}.{}", URL_SAFE_NO_PAD.encode(mac))
    };
    assert_eq!(sign(header, payload), token, "or nothing here would prove anything");
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    let claiming = |claim: &str, value: Value| {
        let mut other = claims.clone();
        other[claim] = value;
        sign(header, &URL_SAFE_NO_PAD.encode(other.to_string()))
    };
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#);
    let generation = claims["gen"].as_u64().unwrap();
    vec![
        ("an unsigned token", format!("{none}.{payload}.")),
        ("a token that says it is unsigned", sign(&none, payload)),
        ("a token with half a signature", token[..token.len() - 20].to_owned()),
        ("a token of another user's login", claiming("sub", json!("2"))),
        ("a token of no login", claiming("sid", json!("00000000000000000000000000000001"))),
        ("a token of a refresh to come", claiming("gen", json!(generation + 1))),
        ("a token that has ended", claiming("exp", json!(1))),
    ]
}

/// One user per role, one without any, and keys with less than all.
fn users(server: &Server, callers: &mut Vec<Caller>) {
    const ROLES: [&[&str]; 6] = [&[], &["VIEWER"], &["OPERATOR"], &["CLIENT"], &["WORKER_OWNER"], &["ADMIN"]];
    for roles in ROLES {
        let name = format!("only-{}", roles.join("-"));
        callers.push(Caller { client: server.user(&name, roles), name, kind: Kind::User(roles) });
    }
    let almighty = server.user("almighty", &ALL);
    for scopes in ROLES {
        let made = almighty.post("/api-keys", &json!({"name": "k", "scopes": scopes})).expect(201);
        let client = almighty.with_token(made["key"].as_str().unwrap());
        callers.push(Caller { name: format!("a key for {scopes:?}"), client, kind: Kind::User(scopes) });
    }
}

/// Tokens that were good for everything once.
fn ended(server: &mut Server) -> Vec<Caller> {
    for name in ["disabled", "expired", "refreshed", "logged-out", "revoked", "changed"] {
        server.add_user(name, &ALL);
    }
    server.set("MUSTER_POOL__TOKEN_TTL_S", "1");
    server.kill9_and_restart();
    let expired = server.login("expired");
    wait_until("the token expires", || expired.get("/auth/me").status == 401);
    server.set("MUSTER_POOL__TOKEN_TTL_S", "900");
    server.kill9_and_restart();
    let [disabled, refreshed, logged_out, revoked, changed] =
        ["disabled", "refreshed", "logged-out", "revoked", "changed"].map(|name| server.login(name));
    let key = |of: &Client| of.post("/api-keys", &json!({"name": "k"})).expect(201);
    let by_key = |key: &Value| server.anonymous().with_token(key["key"].as_str().unwrap());
    let (disabled_key, revoked_key) = (key(&disabled), key(&revoked));
    let all = [
        ("a disabled user's token", disabled.clone()),
        ("a disabled user's key", by_key(&disabled_key)),
        ("an expired token", expired),
        ("a token that was refreshed", refreshed.clone()),
        ("a token that was logged out", logged_out.clone()),
        ("a key that was taken back", by_key(&revoked_key)),
        ("a token from before a new password", changed.clone()),
    ];
    for (name, client) in all.iter().filter(|(name, _)| *name != "an expired token") {
        assert_eq!(client.get("/auth/me").status, 200, "{name}");
    }
    let admin = server.admin();
    let _ = admin.patch("/users/disabled", &json!({"active": false})).expect(200);
    let _ = refreshed.send(Request::new("POST", "/auth/refresh")).expect(200);
    assert_eq!(logged_out.send(Request::new("POST", "/auth/logout")).status, 204);
    let revoke = Request::new("DELETE", &format!("/api-keys/{}", revoked_key["id"]));
    assert_eq!(revoked.send(revoke).status, 204);
    let _ = admin.patch("/users/changed", &json!({"password": password_of("somebody else")})).expect(200);
    all.into_iter()
        .map(|(name, client)| Caller { name: name.to_owned(), client, kind: Kind::Nobody })
        .collect()
}

/// Every role there is.
pub(crate) const ALL: [&str; 5] = ["CLIENT", "WORKER_OWNER", "VIEWER", "OPERATOR", "ADMIN"];

/// Credential that opens an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing.
    Open,
    /// A signature in the address.
    Signature,
    /// The nodes' secret, or a node's own.
    Node,
    /// The secret that simulation workers enrol with.
    Enroller,
    /// A simulation worker's token.
    Renderer,
    /// VIEWER.
    Viewer,
    /// OPERATOR.
    Operator,
    /// OPERATOR, or the nodes' secret.
    OperatorOrNode,
    /// VIEWER, or a link: a signature in the address.
    ViewerOrLink,
    /// VIEWER, or a simulation worker's token.
    ViewerOrRenderer,
    /// OPERATOR, or a simulation worker's token.
    OperatorOrRenderer,
    /// A user, whatever they may do.
    User,
    /// CLIENT, which ADMIN implies.
    Client,
    /// WORKER_OWNER, which ADMIN does not imply.
    Owner,
    /// ADMIN.
    Admin,
}

/// All operations that the server describes.
///
/// # Panics
/// When one of them is missing here, or one here is missing there.
pub(crate) fn routes(server: &Server) -> Vec<(Route, Guard)> {
    let mut left: Vec<&str> = TABLE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let guarded = |route: Route| {
        let name = route.name();
        let row = TABLE.iter().find(|(_, names)| names.contains(&name.as_str()));
        let (guard, _) = row.unwrap_or_else(|| panic!("{name}: say in routes.rs what opens it"));
        left.retain(|known| *known != name);
        (route, *guard)
    };
    let routes = server.routes().into_iter().map(guarded).collect();
    assert!(left.is_empty(), "the server does not describe {left:?}");
    routes
}

const TABLE: &[(Guard, &[&str])] = &[
    (
        Guard::Open,
        &[
            "GET /healthz",
            "GET /readyz",
            "GET /leader-proof",
            "GET /openapi.json",
            "GET /docs",
            "GET /",
            "POST /auth/login",
        ],
    ),
    (Guard::Signature, &["PUT /api/uploads/{path}", "HEAD /api/uploads/{path}"]),
    (
        Guard::Node,
        &[
            "GET /api/nodes/pull",
            "POST /api/nodes/pull",
            "POST /api/nodes/callback",
            "POST /api/nodes/callbacks",
            "POST /api/nodes/artifacts",
        ],
    ),
    (Guard::Enroller, &["POST /api/v1/workers/register"]),
    (
        Guard::Renderer,
        &[
            "POST /api/v1/id-ranges",
            "POST /api/v1/tasks/{id}/complete",
            "POST /api/v1/tasks/{id}/fail",
            "POST /api/v1/workers/rebind",
            "POST /api/v1/workers/{id}/heartbeat",
            "POST /api/v1/workers/{id}/progress",
            "GET /api/v1/workers/{id}/tasks",
        ],
    ),
    (
        Guard::Viewer,
        &[
            "GET /metrics",
            "GET /api/alerts",
            "GET /api/devices",
            "GET /api/devices/{id}",
            "GET /api/devices/{id}/artifacts",
            "GET /api/devices/{id}/task_devices",
            "GET /api/events",
            "GET /api/court",
            "GET /api/court/inbox",
            "GET /api/court/tasks/{id}",
            "GET /api/explain/court_task/{id}",
            "GET /api/explain/{kind}/{id}",
            "GET /api/fleet",
            "GET /api/overview",
            "GET /api/settings",
            "GET /api/nodes",
            "GET /api/pcs",
            "GET /api/pool/workers",
            "GET /api/pcs/{id}",
            "GET /api/runs",
            "GET /api/runs/{id}",
            "GET /api/runs/{id}/artifacts",
            "GET /api/runs/{id}/attempts",
            "GET /api/runs/{id}/failures",
            "GET /api/runs/{id}/task_devices",
            "GET /api/schedules",
            "GET /api/schedules/{id}",
            "GET /api/task_devices/{id}",
            "GET /api/task_devices/{id}/history",
            "GET /api/v1/chunks",
            "GET /api/v1/quarantine",
            "GET /api/v1/sessions",
            "GET /api/v1/sessions/{id}",
            "GET /api/v1/sessions/{id}/diagnostics",
            "GET /api/v1/sessions/{id}/stream",
            "GET /api/v1/sessions/{id}/tasks",
            "GET /api/v1/workers",
            "GET /api/v1/workers/{id}",
        ],
    ),
    (
        Guard::Operator,
        &[
            "PATCH /api/devices/{id}",
            "POST /api/court/tasks/{id}/reply",
            "POST /api/devices/{id}/return",
            "POST /api/nodes/{id}/drain",
            "POST /api/nodes/{id}/resume",
            "POST /api/nodes/{id}/secret",
            "PATCH /api/pcs/{id}",
            "POST /api/runs",
            "POST /api/runs/{id}/cancel",
            "POST /api/runs/{id}/retry",
            "POST /api/schedules",
            "DELETE /api/schedules/{id}",
            // It shows more than a VIEWER should see.
            "GET /api/v1/checkpoint",
            "POST /api/v1/chunks/{id}/retire",
            "POST /api/v1/quarantine/{id}/confirm",
            "POST /api/v1/sessions",
            "POST /api/v1/sessions/{id}/cancel",
            "POST /api/v1/sessions/{id}/pause",
            "POST /api/v1/sessions/{id}/resume",
            "POST /api/v1/sessions/{id}/retry",
            "POST /api/v1/tasks/assign",
            "POST /api/v1/workers/broadcast",
            "POST /api/v1/workers/{id}/approve",
            "POST /api/v1/workers/{id}/quarantine",
        ],
    ),
    (
        Guard::OperatorOrNode,
        &[
            "POST /rest/v1/rpc/claim_task_devices_for_pc",
            "POST /rest/v1/rpc/complete_task_device",
            "POST /rest/v1/rpc/fail_or_retry_task_device",
            "POST /rest/v1/rpc/fn_timeout_tasks_and_task_devices",
            "POST /rest/v1/rpc/renew_task_device_lease",
        ],
    ),
    // Access by a link is tested in crates/routes/nodes/tests/artifacts/links.rs.
    (Guard::ViewerOrLink, &["GET /api/artifacts/{path}"]),
    (Guard::ViewerOrRenderer, &["GET /api/v1/status"]),
    (Guard::OperatorOrRenderer, &["DELETE /api/v1/workers/{id}"]),
    (Guard::User, &["GET /auth/me", "POST /auth/refresh", "POST /auth/logout"]),
    (
        Guard::Client,
        &[
            "GET /api-keys",
            "POST /api-keys",
            "DELETE /api-keys/{id}",
            "GET /jobs",
            "POST /jobs",
            "POST /jobs/batch",
            "GET /jobs/{id}",
            "DELETE /jobs/{id}",
            "GET /jobs/{id}/explain",
            "GET /jobs/{id}/receipt",
            "POST /jobs/{id}/retry",
        ],
    ),
    (
        Guard::Owner,
        &[
            "GET /workers",
            "POST /workers/register",
            "POST /workers/heartbeat",
            "POST /workers/{id}/drain",
            "POST /workers/{id}/resume",
            "PUT /workers/{id}/key",
            "POST /jobs/poll",
            "POST /jobs/submit",
            "POST /jobs/work",
        ],
    ),
    // Whose own name it is may change the password, too: see the pool's tests of accounts.
    (
        Guard::Admin,
        &[
            "GET /audit",
            "GET /users",
            "POST /users",
            "PATCH /users/{name}",
            "POST /workers/{id}/ban",
            "POST /workers/{id}/unban",
        ],
    ),
];
