//! Everybody who could knock: with no token, a bad one, one of somebody else.

use crate::table::Guard;
use muster_tests::{Client, FakeNode, Request, Server, password_of, until};
use serde_json::json;

/// Somebody with a token.
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

/// How a door answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Unauthorized,
    Forbidden,
    Through,
}

impl Caller {
    /// What the contracts say about this caller and a door.
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

    /// Whether it is a simulation worker, who may be told no for what it asks about, too.
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
    add("the nodes' secret", Some(&server.node_secret()), Kind::Node);
    let _ = FakeNode::enrolled(server.node(), "PC-09", 1);
    let own = server.admin().post("/api/nodes/PC-09/secret", &json!({})).expect(200);
    add("a node's own secret", own["secret"].as_str(), Kind::Node);
    add("the enrolment secret", Some(&server.enrol_secret()), Kind::Enroller);
    let registration = json!({"workerId": "W9", "role": "render", "capabilities": {"cameras": 1, "gpu": "none",
        "slots": 1}, "currentSession": null, "endpoint": null});
    let enroller = server.anonymous().with_token(&server.enrol_secret());
    let worker = enroller.post("/api/v1/workers/register", &registration).expect(201);
    add("a simulation worker's token", worker["workerToken"].as_str(), Kind::Renderer);
    add("the admin token", Some(&server.admin_token()), Kind::User(&["ADMIN"]));
    users(server, &mut callers);
    callers
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
    server.kill9();
    server.restart();
    let expired = server.login("expired");
    until("the token expires", || (expired.get("/auth/me").status == 401).then_some(()));
    server.set("MUSTER_POOL__TOKEN_TTL_S", "900");
    server.kill9();
    server.restart();
    let [disabled, refreshed, logged_out, revoked, changed] =
        ["disabled", "refreshed", "logged-out", "revoked", "changed"].map(|name| server.login(name));
    let key = |of: &Client| of.post("/api-keys", &json!({"name": "k"})).expect(201);
    let by_key = |key: &serde_json::Value| server.anonymous().with_token(key["key"].as_str().unwrap());
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
