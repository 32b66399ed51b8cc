//! The envelope of a callback: both of its shapes become one (N4).

use muster_model::{Name, ReportId};
use muster_problem::{Fields, Json, JsonTree, Member, Members, Problem};
use std::sync::Arc;

/// A callback with its fields side by side, whichever shape it came in.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The sender's id for it.
    pub id: ReportId,
    /// All fields, unknown ones included, as JSON text with sorted keys.
    pub text: Arc<str>,
    members: Members<'a>,
}

impl<'a> Message<'a> {
    /// Joins the fields beside `type` with those inside `payload`.
    ///
    /// A field that stands in both places must say the same in both: otherwise nobody knows what was meant.
    ///
    /// # Errors
    /// 422 naming the field.
    pub fn read(body: impl Into<JsonTree<'a>>) -> Result<Self, Problem> {
        let body = body.into();
        let id = read_id(&Fields::of(&body)?)?;
        let members = match body {
            JsonTree::Object(outer) => join_payload(outer)?,
            _ => Members::default(),
        };
        let text = serde_json::to_string(&members).map_err(|error| Problem::internal(&error))?;
        Ok(Self { id, text: text.into(), members })
    }

    /// Its fields, to be read one by one.
    #[must_use]
    pub fn fields(&self) -> Fields<'_, JsonTree<'a>> {
        Fields::of_members(&self.members)
    }
}

/// The node that a body claims to come from, as far as that can be told before it is checked.
#[must_use]
pub fn claimed_node<V: Json>(body: &V) -> Option<Name> {
    let node = member(body, "node_id").or_else(|| member(member(body, "payload")?, "node_id"))?;
    Name::new(node.as_text()?).ok()
}

/// The id of an event, as far as it can be told before the event is checked.
pub(crate) fn claimed_id(body: &JsonTree<'_>) -> Option<ReportId> {
    ReportId::new(member(body, "event_id")?.as_text()?).ok()
}

fn member<'v, V: Json>(body: &'v V, key: &str) -> Option<&'v V> {
    V::member(body.as_members()?, key)
}

fn read_id(outer: &Fields<'_, JsonTree<'_>>) -> Result<ReportId, Problem> {
    let text = outer.text("event_id", 128)?;
    ReportId::new(text).map_err(|error| outer.refuse("event_id", &error.to_string()))
}

/// Unknown fields are kept, not refused (N6): where one says two things, the inner one stays inside `payload`.
fn join_payload(mut outer: Members<'_>) -> Result<Members<'_>, Problem> {
    let inner = match outer.remove("payload") {
        None | Some(JsonTree::Null) => return Ok(outer),
        Some(JsonTree::Object(inner)) => inner,
        Some(_) => return Err(Problem::unprocessable("payload", "must be an object")),
    };
    let (mut joined, mut left) = (Vec::new(), Vec::new());
    for member in inner {
        match outer.get(&member.key) {
            Some(known) if *known == member.value => {}
            Some(_) if EVENT_FIELDS.contains(&&*member.key) => {
                let detail = "says one thing beside type and another in payload";
                return Err(Problem::unprocessable(member.key, detail));
            }
            Some(_) => left.push(member),
            None => joined.push(member),
        }
    }
    joined.extend(outer);
    if !left.is_empty() {
        left.extend(joined.extract_if(.., |member| member.key == "payload"));
        let value = JsonTree::Object(sorted(left)?);
        joined.push(Member { key: "payload".into(), value });
    }
    sorted(joined)
}

/// Keys occur once here: those of one object, and those that another has alone.
fn sorted(members: Vec<Member<'_>>) -> Result<Members<'_>, Problem> {
    Members::sorted(members).map_err(|key| Problem::internal(&key))
}

/// Every field that some event gives a meaning to.
const EVENT_FIELDS: [&str; 27] = [
    "event_id",
    "type",
    "node_id",
    "timestamp",
    "connected_devices_count",
    "running_devices_count",
    "queue_devices_count",
    "vendor_ws_ok",
    "degraded",
    "run_id",
    "target_devices_count",
    "max_concurrency",
    "summary",
    "task_id",
    "device_id",
    "runtime_handle",
    "workflow_id",
    "timeoutMs",
    "attempt",
    "lease_token",
    "step",
    "status",
    "failure_reason",
    "timings",
    "artifact",
    "error_message",
    "payload",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// N4: flat and nested are the same message, and so is any order of keys.
    #[test]
    fn flat_and_nested_are_the_same() {
        let flat =
            json!({"event_id": "e", "type": "t", "node_id": "PC-01", "timestamp": 1, "x": {"b": 1, "a": 2}});
        let nested = json!({"type": "t", "event_id": "e", "payload": {"x": {"a": 2, "b": 1}, "timestamp": 1, "node_id": "PC-01"}});
        let mixed = json!({"type": "t", "event_id": "e", "x": {"a": 2, "b": 1}, "timestamp": 1, "payload": {"node_id": "PC-01", "timestamp": 1}});
        let empty = json!({"event_id": "e", "type": "t", "node_id": "PC-01", "timestamp": 1, "x": {"b": 1, "a": 2}, "payload": {}});
        let null = json!({"event_id": "e", "type": "t", "node_id": "PC-01", "timestamp": 1, "x": {"b": 1, "a": 2}, "payload": null});
        let first = Message::read(&flat).unwrap();
        for other in [nested, mixed, empty, null] {
            let other = Message::read(&other).unwrap();
            assert_eq!(first.text, other.text);
        }
        let text = r#"{"event_id":"e","node_id":"PC-01","timestamp":1,"type":"t","x":{"a":2,"b":1}}"#;
        assert_eq!(&*first.text, text);
    }

    /// N4: `event_id` is required, top-level, 1 to 128 characters.
    #[test]
    fn an_event_needs_an_id() {
        let long = "é".repeat(128);
        assert!(Message::read(&json!({"event_id": long})).is_ok());
        for bad in [
            json!({}),
            json!({"event_id": null}),
            json!({"event_id": ""}),
            json!({"event_id": 7}),
            json!({"event_id": "x".repeat(129)}),
            json!({"event_id": "a\u{0}"}),
            json!({"event_id": "a\nb"}),
            json!({"payload": {"event_id": "e"}}),
        ] {
            assert_eq!(Message::read(&bad).unwrap_err().field(), Some("event_id"), "{bad}");
        }
        assert_eq!(Message::read(&json!([])).unwrap_err().status(), 422);
    }

    /// N4: a field in both places must say the same; `payload` is an object.
    #[test]
    fn a_contradiction_is_refused() {
        let twice = json!({"event_id": "e", "node_id": "PC-01", "payload": {"node_id": "PC-02"}});
        assert_eq!(Message::read(&twice).unwrap_err().field(), Some("node_id"));
        let hidden = json!({"event_id": "e", "payload": {"event_id": "f"}});
        assert_eq!(Message::read(&hidden).unwrap_err().field(), Some("event_id"));
        for bad in [json!("x"), json!([]), json!(1)] {
            let body = json!({"event_id": "e", "payload": bad});
            assert_eq!(Message::read(&body).unwrap_err().field(), Some("payload"));
        }
    }

    /// N6: an unknown field that says two things is kept in both places.
    #[test]
    fn an_unknown_contradiction_is_kept() {
        let body = json!({"event_id": "e", "x": 1, "payload": {"x": 2, "y": 3}});
        let text = Message::read(&body).unwrap().text;
        assert_eq!(&*text, r#"{"event_id":"e","payload":{"x":2},"x":1,"y":3}"#);
        let deep = json!({"event_id": "e", "x": 1, "payload": {"x": 2, "payload": 3}});
        let text = Message::read(&deep).unwrap().text;
        assert_eq!(&*text, r#"{"event_id":"e","payload":{"payload":3,"x":2},"x":1}"#);
    }

    #[test]
    fn the_claimed_node_is_found_in_both_shapes() {
        let node = Some(Name::new("PC-01").unwrap());
        assert_eq!(claimed_node(&json!({"node_id": "PC-01"})), node);
        assert_eq!(claimed_node(&json!({"payload": {"node_id": "PC-01"}})), node);
        assert_eq!(claimed_node(&json!({"payload": 3})), None);
        assert_eq!(claimed_node(&json!(null)), None);
    }
}
