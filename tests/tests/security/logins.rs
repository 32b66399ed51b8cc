//! Guessing names and passwords: P1.

use muster_tests::{Answer, Client, Server, password_of};
use std::thread;

/// A count of the server's.
pub(crate) fn metric(admin: &Client, name: &str) -> u64 {
    let text = admin.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default();
    line.trim().parse().unwrap_or_else(|error| panic!("{name}: {error} in {line:?}"))
}

/// All of an answer but what differs with every one.
fn told(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let varies = |name: &str| ["date", "x-request-id"].contains(&name);
    let headers = answer.headers.iter().filter(|(name, _)| !varies(name)).cloned().collect();
    (answer.status, answer.text(), headers)
}

/// P1: an unknown user, a wrong password and a disabled user get the same answer, byte for byte, for the same work.
#[test]
fn who_exists_is_not_told() {
    let server = Server::start();
    server.add_user("ann", &["CLIENT"]);
    server.add_user("bob", &["ADMIN"]);
    let _ = server.admin().patch("/users/bob", &serde_json::json!({"active": false})).expect(200);
    let tries = [
        ("ann", "the wrong password"),
        ("nobody", "the wrong password"),
        ("bob", &password_of("bob")),
        ("ANN", &password_of("ann")),
        ("admin-token", &server.admin_token()),
    ];
    let mut answers = Vec::new();
    for (name, password) in tries {
        let before = metric(&server.admin(), "muster_password_checks_total");
        answers.push(told(&server.try_login(name, password)));
        assert_eq!(metric(&server.admin(), "muster_password_checks_total"), before + 1, "{name}");
    }
    assert_eq!(answers[0].0, 401);
    assert!(answers[0].1.contains("Incorrect username or password"), "{}", answers[0].1);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(server.try_login("ann", &password_of("ann")).status, 200);
}

/// P1, I9: ten failures a minute per name, then 429 with Retry-After and no more work, also for the right password and all
/// at once; other names are not touched.
#[test]
fn guessing_a_password_is_slowed_down() {
    let server = Server::start();
    server.add_user("ann", &["CLIENT"]);
    server.add_user("bob", &["CLIENT"]);
    let before = metric(&server.admin(), "muster_password_checks_total");
    let server = &server;
    let answers: Vec<u16> = thread::scope(|scope| {
        let guess =
            |n: u64| scope.spawn(move || server.try_login("ann", &format!("guess number {n}")).status);
        let threads: Vec<_> = (0..24).map(guess).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(401), count(429)), (10, 14), "{answers:?}");
    assert_eq!(metric(&server.admin(), "muster_password_checks_total"), before + 10);
    let refused = server.try_login("ann", &password_of("ann"));
    assert_eq!(refused.problem(429)["detail"], "Too many attempts");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    for _ in 0..12 {
        assert_eq!(server.try_login("bob", &password_of("bob")).status, 200, "successes do not count");
    }
}

/// P1: a hundred failures a minute per address, whatever the names.
#[test]
fn guessing_names_is_slowed_down() {
    let server = &Server::start();
    server.add_user("ann", &["CLIENT"]);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let guess = |first: u64| {
            move || -> Vec<u16> {
                (0..30).map(|n| server.try_login(&format!("name-{first}-{n}"), "a guess").status).collect()
            }
        };
        let threads: Vec<_> = (0..4).map(|first| scope.spawn(guess(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|answer| **answer == status).count();
    // Were it slow enough that a minute passes, the first failures would be forgotten.
    assert!(count(401) >= 100 && count(401) + count(429) == 120, "{statuses:?}");
    if count(429) > 0 {
        let _ = server.try_login("ann", &password_of("ann")).problem(429);
    }
}
