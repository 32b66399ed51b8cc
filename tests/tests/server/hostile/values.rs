//! What no honest caller sends.

use serde_json::Value;

/// Strange names, but names: any node that speaks is enrolled, whatever becomes of what it said.
pub(crate) const NAMES: &[&str] = &[
    "\"-1\"",
    "\"'; DROP TABLE tasks; --\"",
    "\"\\ud83e\\udd80 crab\"",
    "\"%2e%2e%2f\"",
    "\"\\u202etxt\"",
    "\"node_heartbeat\"",
];

/// Short texts that are no names where names have rules.
pub(crate) const TEXTS: &[&str] =
    &["\" \"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\n\"", "\"../../etc/passwd\"", "\"..\"", "\"a/b\""];

/// Types that a body of JSON does not have.
pub(crate) const CONTENT_TYPES: [&str; 7] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json; charset=utf-16",
    "",
    "///;;;=",
];

/// Values as they stand in a text, most of them wrong in most places.
pub(crate) fn values() -> Vec<String> {
    let mut values: Vec<String> = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "-1e308",
        "1e999",
        "NaN",
        "Infinity",
        "0x10",
        "01",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
        "\"\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        "[null]",
        "[[[[]]]]",
        "{\"\":{}}",
        "{\"a\":1,\"a\":2}",
        "[1,]",
        "'x'",
    ]
    .map(str::to_owned)
    .to_vec();
    values.extend(TEXTS.iter().map(|text| (*text).to_owned()));
    values.extend(NAMES.iter().map(|name| (*name).to_owned()));
    values.push(format!("\"{}\"", "x".repeat(10_000)));
    values.push(format!("\"{}\"", "é".repeat(129)));
    values.push(format!("[{}]", vec!["1"; 20_000].join(",")));
    values.push(format!("{}{}", "[".repeat(127), "]".repeat(127)));
    values
}

/// Whole bodies that are none.
pub(crate) fn bodies(base: &Value) -> Vec<Vec<u8>> {
    let good = base.to_string();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let object = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let doubled = format!("{{\"node_id\":\"x\",\"node_id\":\"y\",{}", good.get(1..).unwrap_or_default());
    let mut bodies: Vec<Vec<u8>> =
        ["{", "}", "[]", "5", "\"x\"", "{}x", "nul", "{\"a\"}", "{'a':1}", "[1e999]"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
    bodies.extend([
        vec![b' '; 2 * 1024 * 1024],
        vec![b'['; 2 * 1024 * 1024],
        format!("{{\"x\":\"{}\"}}", "x".repeat(2 * 1024 * 1024)).into_bytes(),
        format!("{open}{close}").into_bytes(),
        open.into_bytes(),
        object.into_bytes(),
        doubled.into_bytes(),
        format!("{good}{good}").into_bytes(),
        format!("\u{feff}{good}").into_bytes(),
        format!("[{good}]").into_bytes(),
        good.bytes().flat_map(|byte| [byte, 0]).collect(),
        b"{\"a\": \"\xff\xfe\"}".to_vec(),
        b"\"\xc3\x28\"".to_vec(),
        vec![0; 100],
        good.as_bytes()[..good.len() / 2].to_vec(),
    ]);
    bodies
}

/// Ids, as they stand in an address.
pub(crate) fn ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "..",
        "%2e%2e",
        ".",
        "%2e",
        "%00",
        "a%00b",
        "%0a",
        "%0d%0aSet-Cookie:%20x=y",
        "..%2f..%2fetc%2fpasswd",
        "..%5c..%5c",
        "%ff",
        "%c3%28",
        "%",
        "%zz",
        "%25",
        "%2525",
        "'",
        "%27%20OR%201=1;--",
        "-1",
        "0",
        "1e999",
        "99999999999999999999",
        "01990000-0000-7000-8000-000000000001",
        "01990000-0000-7000-8000-000000000001.9999999",
        "01990000-0000-7000-8000-000000000001.99999999999",
        "%E2%80%AE",
        "a%20b",
        ";",
        "a;b=c",
        "*",
        "%2f",
        "~",
        "null",
        "%F0%9F%A6%80",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("x".repeat(10_000));
    ids.push("%2e%2e%2f".repeat(500));
    ids
}

/// Queries, as they stand in an address.
pub(crate) fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        "limit=-1",
        "limit=0",
        "limit=1001",
        "limit=99999999999999999999",
        "limit=1e3",
        "limit=NaN",
        "limit=%00",
        "limit=",
        "after=%00",
        "after=%27",
        "after=-1",
        "after=..",
        "after=99999999999999999999",
        "after=%ff",
        "status=%00",
        "status=%27%20OR%201=1",
        "status[]=x",
        "queue=../x",
        "pc_id=%0a",
        "%ff=%ff",
        "&&&=&",
        "limit=1&limit=2",
        "=",
        "%",
        "%zz=1",
        "wait_ms=-1",
        "node_id=%00",
        "node_id=..",
        "node_id=PC-01&wait_ms=-1",
        "node_id=PC-01&wait_ms=1e9",
        "node_id=a&node_id=b",
        "a=b",
    ]
    .map(str::to_owned)
    .to_vec();
    queries.push(format!("after={}", "x".repeat(20_000)));
    queries.push(vec!["a=b"; 5000].join("&"));
    queries
}

/// Headers that mean nothing good.
pub(crate) fn headers() -> Vec<(String, String)> {
    let pairs = [
        ("authorization", "Bearer"),
        ("authorization", "Bearer  "),
        ("authorization", "Basic eDp5"),
        ("authorization", "Bearer \u{ff}"),
        ("host", "evil.example"),
        ("host", ""),
        ("host", "localhost:99999"),
        ("origin", "https://evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("x-http-method-override", "DELETE"),
        ("expect", "200-ok"),
        ("range", "bytes=0-,-1,5-2"),
        ("accept", "\u{ff}/\u{ff}"),
        ("content-encoding", "gzip"),
        ("upgrade", "websocket"),
        ("x-request-id", "\u{1b}[2J"),
        ("last-event-id", "-5"),
        ("idempotency-key", "\u{ff}"),
    ];
    let mut headers: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    headers.push(("x-long".to_owned(), "x".repeat(8000)));
    headers.push(("x-request-id".to_owned(), "x".repeat(8000)));
    headers.push(("idempotency-key".to_owned(), "x".repeat(8000)));
    headers
}

/// Every place in a document, as a JSON pointer.
pub(crate) fn pointers(document: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match document {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for (key, value) in children {
        found.push(format!("/{key}"));
        found.extend(pointers(value).into_iter().map(|inner| format!("/{key}{inner}")));
    }
    found
}

/// The document with a text, JSON or not, in that place.
pub(crate) fn replaced(document: &Value, pointer: &str, text: &str) -> Vec<u8> {
    let mut document = document.clone();
    *document.pointer_mut(pointer).unwrap() = Value::from(MARK);
    document.to_string().replacen(&format!("\"{MARK}\""), text, 1).into_bytes()
}

/// The document without that place.
pub(crate) fn removed(document: &Value, pointer: &str) -> Vec<u8> {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(key);
        }
        Some(Value::Array(items)) => items.push(Value::Null),
        _ => {}
    }
    document.to_string().into_bytes()
}

const MARK: &str = "@the place@";
