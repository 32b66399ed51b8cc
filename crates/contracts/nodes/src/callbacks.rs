//! Several callbacks in one request (N25): as a node writes them and the coordinator reads them, and the answer.

use crate::{
    Callback, CallbackAnswer, Message, NodeMessage, answer_report, claimed_node, envelope::claimed_id,
    read_report,
};
use muster_model::{Name, Recorded, ReportId};
use muster_problem::{Fields, Problem, WireMutant, planted, read_json, read_tree};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::ops::Not;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Object, RefOr, Schema,
        schema::{ArrayBuilder, Type},
    },
};

/// The body of `POST /api/nodes/callbacks`. Each event is read by itself; this type gives the schema.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks;

impl PartialSchema for Callbacks {
    fn schema() -> RefOr<Schema> {
        let events = ArrayBuilder::new().items(Callback::schema());
        let events = events.min_items(Some(1)).max_items(Some(EVENTS_MAX));
        let body = Object::builder().schema_type(Type::Object);
        RefOr::T(Schema::Object(body.property("events", events).required("events").build()))
    }
}

impl ToSchema for Callbacks {}

/// The answer to several callbacks (N25).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbacksAnswer {
    /// One per event, in the order of the events.
    pub results: Vec<CallbackResult>,
}

/// The answer to one of several callbacks (N25): that of the event alone, or its problem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallbackResult {
    /// The event's id; null if it had none.
    #[schema(required = true)]
    pub event_id: Option<String>,
    /// True if the event is kept, false if it was refused.
    pub ok: bool,
    /// The event had been taken before.
    #[serde(default, skip_serializing_if = "Not::not")]
    #[schema(required = false)]
    pub duplicate: bool,
    /// The event speaks of what is past: kept, without effect.
    #[serde(default, skip_serializing_if = "Not::not")]
    #[schema(required = false)]
    pub stale: bool,
    /// The status that the event alone would have been refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub status: Option<u16>,
    /// The kind of the problem.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub kind: Option<String>,
    /// What is wrong with this event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub detail: Option<String>,
}

impl CallbackResult {
    fn new(id: Option<ReportId>, result: Result<Recorded, Problem>) -> Self {
        let event_id = id.map(|id| id.as_str().to_owned());
        match result.map(answer_report) {
            Ok(CallbackAnswer { ok, duplicate, stale }) => {
                Self { event_id, ok, duplicate, stale, ..Self::default() }
            }
            Err(problem) => Self {
                event_id,
                status: Some(problem.status().as_u16()),
                kind: Some(problem.kind().to_owned()),
                detail: Some(problem.detail().to_owned()),
                ..Self::default()
            },
        }
    }
}

/// An event of a request with several.
#[derive(Debug)]
pub struct BatchedEvent {
    /// Its id, if it has one.
    pub id: Option<ReportId>,
    /// The event, or why it is refused.
    pub message: Result<NodeMessage, Problem>,
}

impl BatchedEvent {
    /// Reads an event as if it had come alone (N3, N4, N6). `check` refuses a sender that may not speak for the node.
    #[must_use]
    pub fn read(event: &RawValue, check: impl FnOnce(&Name) -> Result<(), Problem>) -> Self {
        let body = match read_tree(event.get().as_bytes(), usize::MAX) {
            Ok(body) => body,
            Err(problem) => return Self { id: None, message: Err(problem) },
        };
        let id = claimed_id(&body);
        let message = claimed_node(&body)
            .map_or(Ok(()), |node| check(&node))
            .and_then(|()| read_report(&Message::read(body)?));
        Self { id, message }
    }
}

/// Splits a body into its events, which are not read yet.
///
/// # Errors
/// 413 above `limit_bytes`; 400 for what is not JSON; 422 naming `events` if it is no list of 1 to 500.
pub fn read_callbacks(body: &[u8], limit_bytes: usize) -> Result<Vec<&RawValue>, Problem> {
    if body.len() > limit_bytes {
        return Err(Problem::too_large(limit_bytes));
    }
    let text = std::str::from_utf8(body).unwrap_or_default();
    // serde takes an array for a struct.
    let is_object = text.trim_start().starts_with('{');
    match serde_json::from_str::<EventList<'_>>(text) {
        Ok(EventList { events }) if is_object && (1..=EVENTS_MAX).contains(&events.len()) => Ok(events),
        _ => Err(refusal(body, limit_bytes)),
    }
}

/// Finds out what is wrong with a body, with the reader that names the field.
fn refusal(body: &[u8], limit_bytes: usize) -> Problem {
    let count = |body: &Value| Ok(Fields::of(body)?.items("events", usize::MAX)?.len());
    match read_json(body, limit_bytes).and_then(|body| count(&body)) {
        Ok(_) => Problem::unprocessable("events", &format!("must have 1 to {EVENTS_MAX} items")),
        Err(problem) => problem,
    }
}

#[derive(Deserialize)]
struct EventList<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// Writes a request of events that were written one by one (N4).
#[must_use]
pub fn write_callbacks(events: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::with_capacity(events.iter().map(|event| event.len() + 1).sum::<usize>() + 13);
    body.extend_from_slice(br#"{"events":["#);
    for (place, event) in events.iter().enumerate() {
        body.extend_from_slice(if place > 0 { b"," } else { b"" });
        body.extend_from_slice(event);
    }
    body.extend_from_slice(b"]}");
    body
}

/// Writes the answer to several callbacks.
#[must_use]
pub fn answer_callbacks(
    results: impl IntoIterator<Item = (Option<ReportId>, Result<Recorded, Problem>)>,
) -> CallbacksAnswer {
    let results = results.into_iter().map(|(id, result)| CallbackResult::new(id, result));
    let mut results: Vec<CallbackResult> = results.collect();
    if planted(WireMutant::BatchResultsReversed) {
        results.reverse();
    }
    CallbacksAnswer { results }
}

/// Reads the answer to so many callbacks.
///
/// # Errors
/// The bytes are no answer to them: nobody knows what became of which event.
pub fn read_callbacks_answer(bytes: &[u8], count: usize) -> Result<Vec<CallbackResult>, NotAnAnswer> {
    let answer: CallbacksAnswer = serde_json::from_slice(bytes)?;
    match answer.results.len() {
        results if results == count => Ok(answer.results),
        results => Err(NotAnAnswer::Count { results, count }),
    }
}

/// The bytes are no answer to several callbacks.
#[derive(Debug, thiserror::Error)]
pub enum NotAnAnswer {
    /// They do not have its form.
    #[error("not an answer to several callbacks: {0}")]
    Form(#[from] serde_json::Error),
    /// They have another number of results.
    #[error("{results} results for {count} callbacks")]
    Count {
        /// Results in the answer.
        results: usize,
        /// Events in the request.
        count: usize,
    },
}

/// Maximum number of events in one request.
pub const EVENTS_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIMIT: usize = 1 << 20;

    fn refused(body: &str) -> (u16, Option<String>) {
        let problem = read_callbacks(body.as_bytes(), LIMIT).expect_err("refused");
        (problem.status().as_u16(), problem.field().map(str::to_owned))
    }

    fn read(event: &str) -> BatchedEvent {
        let body = format!(r#"{{"events":[{event}]}}"#);
        let events = read_callbacks(body.as_bytes(), LIMIT).unwrap();
        BatchedEvent::read(events[0], |node| match node.as_str() {
            "PC-02" => Err(Problem::unauthorized()),
            _ => Ok(()),
        })
    }

    /// N25: what a node writes is what the coordinator reads, event by event and letter by letter.
    #[test]
    fn events_are_split_as_they_were_written() {
        let events = [br#"{"event_id": "a", "z": [1.10]}"#.to_vec(), b"7".to_vec(), b"null".to_vec()];
        let body = write_callbacks(&events);
        let read = read_callbacks(&body, LIMIT).unwrap();
        assert!(read.iter().map(|event| event.get().as_bytes()).eq(events.iter().map(Vec::as_slice)));
        let more = br#" {"x": {"events": 1}, "events": [{}], "y": 2}"#;
        assert_eq!(read_callbacks(more, LIMIT).unwrap().len(), 1, "unknown fields are ignored");
    }

    /// N25: 0 or more than 500 events are 422 naming `events`; the limit of a body is that of the whole.
    #[test]
    fn a_request_has_1_to_500_events() {
        let many = |count: usize| format!(r#"{{"events":[{}]}}"#, vec!["{}"; count].join(","));
        assert_eq!(read_callbacks(many(500).as_bytes(), LIMIT).unwrap().len(), 500);
        let events = || (422, Some("events".to_owned()));
        for bad in [&many(0), &many(501), "{}", r#"{"events":null}"#, r#"{"events":{}}"#, r#"{"events":"x"}"#]
        {
            assert_eq!(refused(bad), events(), "{bad:.40}");
        }
        assert_eq!(refused("[[{}]]").0, 422);
        for bad in ["", "{", r#"{"events":[{]}"#, r#"{"events":[{}],"events":[{}]}"#, r#"{"events":[{}]} x"#]
        {
            assert_eq!(refused(bad).0, 400, "{bad}");
        }
        assert_eq!(read_callbacks(b"{\"events\":[\"\xff\"]}", LIMIT).unwrap_err().status(), 400);
        assert_eq!(refused(&format!("{}{}", many(1), " ".repeat(LIMIT))).0, 413);
    }

    /// N25: each event is refused by itself, with the status that it would have alone, and names its id if it has one.
    #[test]
    fn an_event_is_refused_by_itself() {
        let beat = r#""type":"node_heartbeat","node_id":"PC-01","timestamp":1,"connected_devices_count":1,
            "running_devices_count":0,"queue_devices_count":0,"vendor_ws_ok":true"#;
        let good = read(&format!(r#"{{"event_id":"e",{beat}}}"#));
        assert!(matches!(good.message, Ok(NodeMessage::Heartbeat { .. })), "{good:?}");
        for (event, id, status) in [
            (r#"{"event_id":"e","payload":{"node_id":"PC-02"}}"#.to_owned(), Some("e"), 401),
            (format!(r#"{{{beat}}}"#), None, 422),
            (format!(r#"{{"event_id":7,{beat}}}"#), None, 422),
            (r#"{"event_id":"e","type":"x","node_id":"PC-01"}"#.to_owned(), Some("e"), 422),
            (r#"{"event_id":"e","event_id":"f"}"#.to_owned(), None, 400),
            ("[]".to_owned(), None, 422),
        ] {
            let read = read(&event);
            assert_eq!(read.id.as_ref().map(ReportId::as_str), id, "{event}");
            assert_eq!(read.message.expect_err("refused").status(), status, "{event}");
        }
    }

    /// N25: the answer byte for byte, and as a node reads it.
    #[test]
    fn results_are_answered_in_order() {
        let id = |text: &str| ReportId::new(text).ok();
        let results = [
            (id("a"), Ok(Recorded::Applied)),
            (id("b"), Ok(Recorded::Duplicate)),
            (id("c"), Ok(Recorded::Stale)),
            (id("d"), Err(Problem::not_found("run_id names no run"))),
            (None, Err(Problem::unprocessable("event_id", "is missing"))),
        ];
        let answer = answer_callbacks(results);
        let text = serde_json::to_string(&answer).unwrap();
        let expected = concat!(
            r#"{"results":[{"event_id":"a","ok":true},{"event_id":"b","ok":true,"duplicate":true},"#,
            r#"{"event_id":"c","ok":true,"stale":true},"#,
            r#"{"event_id":"d","ok":false,"status":404,"type":"urn:muster:problem:not-found","detail":"run_id names no run"},"#,
            r#"{"event_id":null,"ok":false,"status":422,"type":"urn:muster:problem:unprocessable","detail":"event_id is missing"}]}"#,
        );
        assert_eq!(text, expected);
        assert_eq!(read_callbacks_answer(text.as_bytes(), 5).unwrap(), answer.results);
        assert!(read_callbacks_answer(text.as_bytes(), 4).is_err(), "whose are they?");
        let foreign = json!({"results": [{"ok": true, "more": 1}, {"ok": false, "status": 503}]});
        let foreign = read_callbacks_answer(foreign.to_string().as_bytes(), 2).unwrap();
        assert_eq!((foreign[0].ok, foreign[1].status), (true, Some(503)));
        for bad in ["{}", "[]", "", r#"{"results":[{}]}"#] {
            assert!(read_callbacks_answer(bad.as_bytes(), 1).is_err(), "{bad}");
        }
    }
}
