//! One server end to end: the interface of the binary, commands, the dashboard, backups, explanations, hostile input.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backup;
mod commands;
mod dashboard;
mod doors;
mod explain;
mod feed;
mod hostile;
mod openapi;
mod serve;
mod terminal;

use muster_tests::Server;
use serde_json::Value;

/// An operation of the server's own description.
struct Route {
    method: String,
    path: String,
    /// What opens it: `node`, `operator`, `apikey`, or a `signature` in the address; nothing where it is open.
    keys: Vec<String>,
}

/// Every route of `/openapi.json`, its variables filled in with things that do not exist.
fn routes(server: &Server) -> Vec<Route> {
    let document = server.anonymous().get("/openapi.json").expect(200);
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let path = path
                .replace("{kind}", "run")
                .replace("{name}", "nobody")
                .replace("{id}", "nobody")
                .replace("{path}", "videos/nobody");
            routes.push(Route { method: method.to_uppercase(), path, keys: keys(operation) });
        }
    }
    assert!(routes.len() > 30, "only {} routes", routes.len());
    routes
}

fn keys(operation: &Value) -> Vec<String> {
    let ways = operation["security"].as_array().into_iter().flatten();
    ways.flat_map(|way| way.as_object().unwrap().keys().cloned()).collect()
}
