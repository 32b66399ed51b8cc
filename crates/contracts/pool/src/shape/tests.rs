use super::*;
use serde_json::{Value as Json, json};

/// The `errors` of a refusal.
fn errors(refused: &Problem) -> Json {
    assert_eq!(refused.status(), 422);
    serde_json::from_slice::<Json>(refused.to_http().body()).unwrap()["errors"].take()
}

fn refused<T>(body: &str, fields: impl FnOnce(&mut Shape<'_, '_, '_>) -> T) -> Json {
    errors(&read(body.as_bytes(), fields).err().expect("refused"))
}

fn why<T>(value: &str, field: impl FnOnce(&mut Shape<'_, '_, '_>) -> T) -> String {
    let errors = refused(&format!("{{\"f\":{value}}}"), field);
    assert_eq!(errors[0]["loc"], json!(["body", "f"]), "{value}");
    errors[0]["msg"].as_str().unwrap().to_owned()
}

/// P3, P7: what is not one JSON document is told with the place where it breaks.
#[test]
fn what_is_no_json_is_told_by_place() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
    for (body, at) in [
        ("{", 1),
        ("{\"a\":1,\"a\":2}", 7),
        ("{\"a\":NaN}", 5),
        ("{\"a\":1e999}", 5),
        ("{} x", 3),
        (deep.as_str(), 132),
    ] {
        let errors = refused(body, |_| ());
        assert_eq!(errors[0]["loc"], json!(["body", at]), "{body:.40}");
        assert!(errors[0]["msg"].as_str().unwrap().starts_with("JSON decode error"));
    }
    assert_eq!(refused(" ", |_| ()), json!([{"loc": ["body"], "msg": "Field required"}]));
    for body in ["[]", "7", "null", "\"x\""] {
        let msg = "Input should be a valid dictionary or object to extract fields from";
        assert_eq!(refused(body, |s| s.id("x")), json!([{"loc": ["body"], "msg": msg}]), "{body}");
    }
}

/// P3: ids are JSON integers below 2^53; truth and text are none.
#[test]
fn ids_are_integers_below_2_53() {
    for (value, id) in [("7", 7), ("7.0", 7), ("7e0", 7), ("9007199254740991", limit::ID as u64), ("-1", 0)] {
        assert_eq!(read(format!("{{\"f\":{value}}}").as_bytes(), |s| s.id("f")).unwrap(), id, "{value}");
    }
    for (value, msg) in [
        ("true", "Input should be a valid integer"),
        ("\"7\"", "Input should be a valid integer"),
        ("null", "Input should be a valid integer"),
        ("[7]", "Input should be a valid integer"),
        ("7.5", "Input should be a valid integer, got a number with a fractional part"),
        ("9007199254740992", "Input should be less than or equal to 9007199254740991"),
        ("1e300", "Input should be less than or equal to 9007199254740991"),
        ("99999999999999999999999", "Input should be less than or equal to 9007199254740991"),
        ("-99999999999999999999999", "Input should be greater than or equal to -9007199254740991"),
    ] {
        assert_eq!(why(value, |s| s.id("f")), msg, "{value}");
    }
    let missing = refused("{}", |s| s.id("worker_id"));
    assert_eq!(missing, json!([{"loc": ["body", "worker_id"], "msg": "Field required"}]));
}

/// P3, P7: lengths are counted in code points.
#[test]
fn texts_are_counted_in_code_points() {
    let text = |s: &mut Shape<'_, '_, '_>| s.text("f", 1..=3);
    for fine in ["\"abc\"", "\"\u{1f600}\u{1f600}\u{1f600}\"", "\"\\ud83d\\ude00ab\""] {
        read(format!("{{\"f\":{fine}}}").as_bytes(), text).unwrap();
    }
    assert_eq!(why("\"abcd\"", text), "String should have at most 3 characters");
    assert_eq!(why("\"\u{1f600}bcd\"", text), "String should have at most 3 characters");
    assert_eq!(why("\"\"", text), "String should have at least 1 character");
    assert_eq!(why("7", text), "Input should be a valid string");
    assert_eq!(why("7", |s| s.opt_text("f", 3)), "Input should be a valid string");
    assert_eq!(read(b"{\"f\":null}", |s| s.opt_text("f", 3)).unwrap(), None);
}

/// P6, P7, P13: each type has its words.
#[test]
fn types_have_pydantics_words() {
    assert_eq!(why("1", |s| s.flag("f")), "Input should be a valid boolean");
    assert_eq!(why("[]", |s| s.opt_object("f").is_some()), "Input should be a valid dictionary");
    let within = |s: &mut Shape<'_, '_, '_>| s.opt_object_within("f", 5).is_some();
    assert_eq!(why("{\"a\":1}", within), "Input should be at most 5 bytes of JSON");
    assert_eq!(why("\"1\"", |s| s.opt_positive("f", 9.0)), "Input should be a valid number");
    assert_eq!(why("0", |s| s.opt_positive("f", 9.0)), "Input should be greater than 0");
    assert_eq!(why("9.5", |s| s.opt_positive("f", 9.0)), "Input should be less than or equal to 9");
    let list = |s: &mut Shape<'_, '_, '_>| s.list("f", 1..=2, |_| ()).len();
    assert_eq!(why("{}", list), "Input should be a valid list");
    assert_eq!(why("[]", list), "List should have at least 1 item after validation, not 0");
    assert_eq!(why("[{},{},{}]", list), "List should have at most 2 items after validation, not 3");
}

/// P18, P19: everything that is wrong is told at once, each with its place in the list, and not without end.
#[test]
fn everything_wrong_is_told_at_once() {
    let errors = refused(r#"{"a":"x","jobs":[{"n":1},{"n":true},[]]}"#, |s| {
        s.id("a");
        s.id("b");
        s.list("jobs", 0..=9, |job| job.id("n"))
    });
    let places: Vec<&Json> = errors.as_array().unwrap().iter().map(|error| &error["loc"]).collect();
    let expected = [
        json!(["body", "a"]),
        json!(["body", "b"]),
        json!(["body", "jobs", 1, "n"]),
        json!(["body", "jobs", 2]),
    ];
    assert_eq!(places, expected.iter().collect::<Vec<_>>());
    let many = format!("{{\"jobs\":[{}{{}}]}}", "{},".repeat(900));
    let errors = refused(&many, |s| s.list("jobs", 0..=1000, |job| job.id("n")));
    assert_eq!(errors.as_array().unwrap().len(), MISFITS_MAX);
}

/// P7: what nobody asks for is ignored; the object's own text is as it came.
#[test]
fn unknown_fields_are_ignored() {
    let body = br#"{"x": 1, "items": [ {"a": 1.50 , "b": []} ]}"#;
    let texts = read(body, |s| s.list("items", 0..=9, |item| item.text_of_all().to_owned())).unwrap();
    assert_eq!(texts, [r#"{"a": 1.50 , "b": []}"#]);
}
