//! Every route against every kind of caller: I7, P2.

use crate::{
    callers::{self, Caller, Verdict},
    table::{self, Guard, Route},
};
use muster_tests::{Answer, Request, Server};
use serde_json::json;

/// I7, P1, P2: each of all routes is closed to everybody but those it is for: 401 without a token that works (absent, broken,
/// expired, ended, of a disabled user), 403 with one of somebody else or of too low a role; nothing changes meanwhile.
#[test]
fn every_route_is_closed_to_everybody_else() {
    let mut server = Server::with(&SILENT);
    let callers = callers::all(&mut server);
    let routes = table::routes(&server);
    let before = server.database().dump(&["feed", "meta"]);
    let mut refused = 0;
    for (route, caller) in pairs(&routes, &callers) {
        let expected = match caller.verdict(route.guard) {
            Verdict::Unauthorized => 401,
            Verdict::Forbidden => 403,
            Verdict::Through => continue,
        };
        let answer = ask(caller, route);
        let what = format!("{} with {}: {}", route.name(), caller.name, answer.text());
        if route.guard == Guard::Signature {
            // A token neither helps nor hinders: it is judged by its address alone.
            assert!([401, 403].contains(&answer.status), "{} {what}", answer.status);
        } else {
            assert_eq!(answer.status, expected, "{what}");
        }
        in_the_contracts_words(route, &answer);
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
    let callers = callers::all(&mut server);
    let routes = table::routes(&server);
    for (route, caller) in pairs(&routes, &callers) {
        // Those end the token, and a stream never ends.
        let is_apart = ["/auth/refresh", "/auth/logout", "/api/events"].contains(&route.path.as_str());
        if is_apart || caller.verdict(route.guard) != Verdict::Through {
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
        assert!(!is_of_another || answer.status == 403);
    }
}

fn pairs<'a>(routes: &'a [Route], callers: &'a [Caller]) -> impl Iterator<Item = (&'a Route, &'a Caller)> {
    routes.iter().flat_map(move |route| callers.iter().map(move |caller| (route, caller)))
}

fn ask(caller: &Caller, route: &Route) -> Answer {
    let request = Request::new(&route.method, &route.of_nobody());
    caller.client.send(if route.has_body { request.json(&json!({})) } else { request })
}

/// P2: contract P has a text for each.
fn in_the_contracts_words(route: &Route, answer: &Answer) {
    if !matches!(route.guard, Guard::User | Guard::Client | Guard::Owner | Guard::Admin) {
        return;
    }
    let expected = if answer.status == 401 { "Invalid token" } else { "Insufficient role" };
    assert_eq!(answer.problem(answer.status)["detail"], expected, "{}", route.name());
}

/// Those who are enrolled say nothing, and stay what they are.
const SILENT: [(&str, &str); 3] = [
    ("MUSTER_NODES__OFFLINE_AFTER_S", "3600"),
    ("MUSTER_SIMULATION__HEARTBEAT_MS", "60000"),
    ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "100"),
];
