//! The pages' files: I7.

use muster_tests::{Answer, Request, Server};

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

/// I7: no path leads to any other file, by whatever detour, and nothing can be written.
#[test]
fn only_the_pages_files_are_served() {
    let server = Server::start();
    for path in [
        "/ui/",
        "/ui/..",
        "/ui/../Cargo.toml",
        "/ui/%2e%2e/Cargo.toml",
        "/ui/..%2fCargo.toml",
        "/ui/js/..%2f..%2fsrc/lib.rs",
        "/ui//etc/hostname",
        "/ui/%2fetc%2fpasswd",
        "/ui/index.html%00.js",
        "/ui/.hidden.js",
        "/ui/js",
        "/ui",
    ] {
        let answer = ask(&server, "GET", path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.text().contains("[package]"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        assert_eq!(ask(&server, method, "/").status, 405);
        assert_eq!(ask(&server, method, "/ui/index.html").status, 405);
    }
}

/// I7: the page is only given by our own names, and to no page elsewhere.
#[test]
fn the_page_has_our_names_only() {
    let server = Server::start();
    for path in ["/", "/ui/index.html"] {
        let foreign = Request::new("GET", path).header("Host", "evil.example");
        assert_eq!(server.anonymous().send(foreign).status, 403, "{path}");
        let foreign = Request::new("GET", path).header("Origin", "https://evil.example");
        assert_eq!(server.anonymous().send(foreign).status, 403, "{path}");
    }
}

/// I7: what a browser has is not sent again.
#[test]
fn what_is_known_is_not_sent_again() {
    let server = Server::start();
    let tag = ask(&server, "GET", "/").header("etag").unwrap().to_owned();
    let again = server.anonymous().send(Request::new("GET", "/").header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
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
