//! Workers: how their owners register and change them, and what they see of them (P3, P4, P5, P12, P14, P15).

use crate::{
    JsonText, Moment, ReadError, limit,
    shape::{Shape, read},
    specs::specs,
};
use muster_model::{PoolRegistration, PoolWorkerId, PoolWorkerRecord, PoolWorkerStatus, Timestamp, UserId};
use muster_problem::{Problem, WireMutant, planted};
use muster_proof::json::{Kind, Value};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;
use utoipa::ToSchema;

/// The body of `POST /workers/register` (P3).
#[derive(Clone, Debug, Serialize)]
pub struct RegisterRequest {
    /// Unique over all owners.
    pub name: Box<str>,
    /// The worker's region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Box<str>>,
    /// Specs that jobs may require; `slots` is its concurrency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specs_json: Option<JsonText>,
    /// The key that verifies its results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<Box<str>>,
}

impl RegisterRequest {
    /// Parses the body.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8], owner: UserId) -> Result<PoolRegistration, Problem> {
        read(body, |fields| {
            let specs_json = fields.opt_object_within("specs_json", limit::SPECS_BYTES);
            let keys = specs_json.and_then(|specs| specs.as_object()).map_or(0, |specs| specs.len());
            if keys > limit::SPECS_KEYS {
                let msg = format!("Input should have at most {} members", limit::SPECS_KEYS);
                fields.blame("specs_json", msg);
            }
            PoolRegistration {
                owner,
                name: fields.text("name", 1..=limit::NAME_CHARS),
                region: fields.opt_text("region", limit::REGION_CHARS),
                specs: specs_json.map(specs).unwrap_or_default(),
                specs_json: specs_json.map(|specs| specs.text().into()),
                public_key: fields.opt_text("public_key", limit::PUBLIC_KEY_CHARS),
                slots: slots(fields, specs_json),
            }
        })
    }
}

/// The body of `PUT /workers/{id}/key` (P3).
#[derive(Clone, Debug, Serialize)]
pub struct KeyRequest {
    /// The key that verifies its results from now on.
    pub public_key: Box<str>,
}

impl KeyRequest {
    /// Parses the body.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<Self, Problem> {
        read(body, |fields| Self { public_key: fields.text("public_key", 0..=limit::PUBLIC_KEY_CHARS) })
    }
}

/// The body of `POST /workers/heartbeat` (P5).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HeartbeatRequest {
    /// The worker that lives.
    pub worker_id: u64,
}

impl HeartbeatRequest {
    /// Parses the body.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<PoolWorkerId, Problem> {
        read(body, |fields| PoolWorkerId(fields.id("worker_id")))
    }
}

/// The body of `POST /workers/{id}/ban` and `/unban` (P14).
#[derive(Clone, Debug, Serialize)]
pub struct ReasonRequest {
    /// The reason, for people.
    pub reason: Box<str>,
}

impl ReasonRequest {
    /// Parses the body.
    ///
    /// # Errors
    /// 422 naming every field that is wrong.
    pub fn parse(body: &[u8]) -> Result<Self, Problem> {
        read(body, |fields| Self { reason: fields.text("reason", 1..=limit::REASON_CHARS) })
    }
}

/// A worker as its registration answers it (P3).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerRegistered)]
pub struct Registered {
    /// Its id.
    pub id: u64,
    /// Unique over all owners.
    pub name: Box<str>,
    /// Its owner.
    pub owner_user_id: u64,
    /// `offline`, `online` or `banned`.
    #[schema(value_type = String, example = "offline")]
    #[serde(serialize_with = "status_word")]
    pub status: PoolWorkerStatus,
    /// Its region.
    pub region: Option<Box<str>>,
    /// Its specs, as they were registered.
    #[schema(value_type = JsonText)]
    pub specs_json: Option<JsonText>,
    /// The key that verifies its results.
    pub public_key: Option<Box<str>>,
    /// Its last heartbeat or poll.
    pub last_seen_at: Option<Moment>,
}

impl Registered {
    /// Shows a worker as its registration answers it.
    #[must_use]
    pub fn of(worker: PoolWorkerRecord) -> Self {
        Self {
            id: worker.id.0,
            name: worker.name,
            owner_user_id: worker.owner.0,
            status: worker.status,
            region: worker.region,
            specs_json: worker.specs_json.as_deref().map(JsonText::from),
            public_key: worker.public_key,
            last_seen_at: worker.last_seen.map(Moment),
        }
    }
}

/// A worker (P4, P14, P15).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorker)]
pub struct Worker {
    /// As its registration answered it, with what has become of it since.
    #[serde(flatten)]
    pub registered: Registered,
    /// How often a majority agreed with it, 0 to 1; the coordinator's own.
    pub reputation: f64,
    /// How often a majority did not.
    pub dissents: u32,
    /// It gets no more work.
    pub draining: bool,
    /// Why it is banned.
    pub ban_reason: Option<Box<str>>,
}

impl Worker {
    /// Shows a worker; `seen` is its last sign of life in memory, newer than the stored one.
    #[must_use]
    pub fn of(mut worker: PoolWorkerRecord, seen: Option<Timestamp>) -> Self {
        worker.last_seen = worker.last_seen.max(seen);
        Self {
            reputation: worker.reputation(),
            dissents: worker.dissents,
            draining: worker.draining,
            ban_reason: worker.ban_reason.take().filter(|_| !planted(WireMutant::PoolBanReasonLeftOut)),
            registered: Registered::of(worker),
        }
    }
}

/// The caller's workers, by id (P4).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerList)]
pub struct WorkerList {
    /// All of them, or, with `limit`, this page.
    pub workers: Vec<Worker>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The answer to a heartbeat (P5).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkerSeen)]
pub struct Seen {
    /// Who was heard of.
    pub worker_id: u64,
    /// When.
    pub last_seen_at: Moment,
}

impl Seen {
    /// Reads the answer to a heartbeat: the time of the worker's last sign of life, where the server names it (P5, P12).
    ///
    /// # Errors
    /// The text is not that answer.
    pub fn read(bytes: &[u8], reads_old_name: bool) -> Result<Option<Arc<str>>, ReadError> {
        Ok(serde_json::from_slice::<LastSeen>(bytes)?.text(reads_old_name))
    }
}

/// A worker as its own program reads it from a registration or a list (P3, P4): leniently, since other servers speak this
/// contract, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: Arc<str>,
    /// The key that verifies its results; an empty one counts as none.
    pub key: Option<Arc<str>>,
    /// Its concurrency, as it was registered.
    pub slots: Option<u64>,
    /// Its last sign of life, as the server wrote it (P12).
    pub last_seen: Option<Arc<str>>,
}

impl WorkerSummary {
    /// Reads the answer to a registration (P3).
    ///
    /// # Errors
    /// The text is not that answer.
    pub fn read(bytes: &[u8], reads_old_name: bool) -> Result<Self, ReadError> {
        Ok(serde_json::from_slice::<SummaryFields>(bytes)?.summary(reads_old_name))
    }

    /// Reads a list of workers (P4).
    ///
    /// # Errors
    /// The text is not that list.
    pub fn read_list(bytes: &[u8], reads_old_name: bool) -> Result<Vec<Self>, ReadError> {
        #[derive(Deserialize)]
        struct List {
            workers: Vec<SummaryFields>,
        }
        let list: List = serde_json::from_slice(bytes)?;
        Ok(list.workers.into_iter().map(|worker| worker.summary(reads_old_name)).collect())
    }
}

#[derive(Deserialize)]
struct SummaryFields {
    id: u64,
    name: String,
    public_key: Option<String>,
    specs_json: Option<JsonText>,
    last_seen_at: Option<String>,
    last_heartbeat_at: Option<String>,
}

impl SummaryFields {
    fn summary(self, reads_old_name: bool) -> WorkerSummary {
        #[derive(Deserialize)]
        struct Specs {
            slots: Option<u64>,
        }
        let specs = self.specs_json.and_then(|text| serde_json::from_str::<Specs>(text.as_str()).ok());
        let seen = LastSeen { last_seen_at: self.last_seen_at, last_heartbeat_at: self.last_heartbeat_at };
        WorkerSummary {
            id: self.id,
            name: self.name.into(),
            key: self.public_key.map(Into::into),
            slots: specs.and_then(|specs| specs.slots),
            last_seen: seen.text(reads_old_name),
        }
    }
}

/// The last sign of life; a server that was not migrated has it under its old name (P12).
#[derive(Deserialize)]
struct LastSeen {
    last_seen_at: Option<String>,
    last_heartbeat_at: Option<String>,
}

impl LastSeen {
    fn text(self, reads_old_name: bool) -> Option<Arc<str>> {
        let old = self.last_heartbeat_at.filter(|_| reads_old_name);
        self.last_seen_at.or(old).map(Into::into)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn status_word<S: Serializer>(status: &PoolWorkerStatus, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(status.as_str())
}

/// The worker's concurrency (P3). A value that is no count is refused: nobody would notice for long that the worker does one
/// assignment at a time.
fn slots(fields: &mut Shape<'_, '_, '_>, specs: Option<&Value<'_>>) -> u32 {
    let specs = specs.filter(|_| !planted(WireMutant::PoolSlotsIgnored));
    let Some(slots) = specs.and_then(|specs| specs.get("slots")).filter(|slots| !slots.is_null()) else {
        return 1;
    };
    let count = match slots.kind {
        Kind::Float(number) if number.fract() == 0.0 => format!("{number}").parse().ok(),
        _ => slots.as_i64(),
    };
    let count = count.filter(|count| (1..=limit::SLOTS).contains(count));
    let count = count.and_then(|count| u32::try_from(count).ok());
    count.unwrap_or_else(|| {
        let msg = format!("Input should be an integer from 1 to {}", limit::SLOTS);
        fields.blame_within("specs_json", &["slots"], msg);
        1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_bytes;

    fn registration(body: &str) -> Result<PoolRegistration, String> {
        RegisterRequest::parse(body.as_bytes(), UserId(7)).map_err(|problem| problem.detail().to_owned())
    }

    /// P3: the request of the source document.
    #[test]
    fn a_registration_is_read() {
        let key = "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE";
        let body = format!(r#"{{"name": "worker-owner-a", "region": "sa-east-1", "public_key": "{key}"}}"#);
        let read = registration(&body).unwrap();
        assert_eq!((&*read.name, read.region.as_deref()), ("worker-owner-a", Some("sa-east-1")));
        assert_eq!((read.public_key.as_deref(), read.slots, read.specs_json), (Some(key), 1, None));
    }

    /// P3: `specs_json.slots` is its concurrency; its specs are kept as they came.
    #[test]
    fn slots_are_its_concurrency() {
        let read = registration(r#"{"name": "a", "specs_json": {"slots": 4, "vram": 1.50 }}"#).unwrap();
        assert_eq!((read.slots, read.specs_json.as_deref()), (4, Some(r#"{"slots": 4, "vram": 1.50 }"#)));
        for (specs, slots) in [("{}", 1), (r#"{"slots": null}"#, 1), (r#"{"slots": 2.0}"#, 2)] {
            assert_eq!(
                registration(&format!(r#"{{"name": "a", "specs_json": {specs}}}"#)).unwrap().slots,
                slots
            );
        }
        for slots in ["0", "-1", "1025", "1.5", "true", "\"2\"", "1e300"] {
            let refused = registration(&format!(r#"{{"name": "a", "specs_json": {{"slots": {slots}}}}}"#));
            let msg = "body.specs_json.slots: Input should be an integer from 1 to 1024";
            assert_eq!(refused.unwrap_err(), msg, "{slots}");
        }
    }

    /// P3: 1..120, at most 64, objects; lengths in code points.
    #[test]
    fn limits_are_the_contracts() {
        let umlauts = |count: usize| "\u{e4}".repeat(count);
        for (body, wrong) in [
            (format!(r#"{{"name": "{}"}}"#, umlauts(120)), ""),
            (format!(r#"{{"name": "{}"}}"#, umlauts(121)), "name"),
            (r#"{"name": ""}"#.to_owned(), "name"),
            (r#"{"region": "x"}"#.to_owned(), "name"),
            (format!(r#"{{"name": "a", "region": "{}"}}"#, umlauts(64)), ""),
            (format!(r#"{{"name": "a", "region": "{}"}}"#, umlauts(65)), "region"),
            (r#"{"name": "a", "specs_json": []}"#.to_owned(), "specs_json"),
            (r#"{"name": "a", "public_key": 1}"#.to_owned(), "public_key"),
            (r#"{"name": "a", "public_key": "any text at all", "unknown": 1}"#.to_owned(), ""),
        ] {
            match registration(&body) {
                Ok(_) => assert_eq!(wrong, "", "{body}"),
                Err(detail) => assert!(detail.starts_with(&format!("body.{wrong}: ")), "{detail}"),
            }
        }
    }

    /// P12: `last_seen_at` is read, else `last_heartbeat_at`.
    #[test]
    fn both_names_of_the_last_sign_of_life_are_read() {
        let worker_of = |seen: &str, reads_old_name| {
            let text = format!(r#"{{"workers":[{{"id":7,"name":"W","owner_user_id":1{seen}}}]}}"#);
            WorkerSummary::read_list(text.as_bytes(), reads_old_name).unwrap().remove(0).last_seen
        };
        let worker = |seen: &str| worker_of(seen, true);
        let (new, old) = (r#","last_seen_at":"new""#, r#","last_heartbeat_at":"old""#);
        assert_eq!(worker(&format!("{old}{new}")).as_deref(), Some("new"));
        assert_eq!(worker(old).as_deref(), Some("old"));
        assert_eq!(worker(&format!(r#"{old},"last_seen_at":null"#)).as_deref(), Some("old"));
        assert_eq!(worker("").as_deref(), None);
        let beat = |reads| Seen::read(br#"{"worker_id":7,"last_heartbeat_at":"old"}"#, reads).unwrap();
        assert_eq!(beat(true).as_deref(), Some("old"));
        assert_eq!((worker_of(old, false), beat(false)), (None, None), "it is switched off");
        assert_eq!(worker_of(new, false).as_deref(), Some("new"));
    }

    /// P3: a worker's program reads what it needs, and no more.
    #[test]
    fn a_worker_is_read_leniently() {
        let text = br#"{"id":7,"name":"W","owner_user_id":10,"status":"offline","region":null,
            "specs_json":{"slots":4,"gpu":"x"},"public_key":"K","last_seen_at":null}"#;
        let name = "W".into();
        let worker = WorkerSummary { id: 7, name, key: Some("K".into()), slots: Some(4), last_seen: None };
        assert_eq!(WorkerSummary::read(text, true).unwrap(), worker);
        let odd = br#"{"id":7,"name":"W","specs_json":{"slots":"many"},"public_key":null}"#;
        let expected = WorkerSummary { key: None, slots: None, ..worker };
        assert_eq!(WorkerSummary::read(odd, true).unwrap(), expected);
        assert!(WorkerSummary::read(br#"{"id":-1,"name":"W"}"#, true).is_err());
    }

    /// P3, P5, P14: the server parses what a client writes.
    #[test]
    fn requests_are_parsed_as_they_were_written() {
        let request = RegisterRequest {
            name: "W".into(),
            region: Some("eu".into()),
            specs_json: Some(r#"{"slots":2}"#.into()),
            public_key: Some("K".into()),
        };
        let text = r#"{"name":"W","region":"eu","specs_json":{"slots":2},"public_key":"K"}"#;
        assert_eq!(to_bytes(&request), text.as_bytes());
        assert_eq!(registration(text).unwrap().slots, 2);
        let key = KeyRequest::parse(&to_bytes(&KeyRequest { public_key: "K".into() })).unwrap();
        assert_eq!(&*key.public_key, "K");
        let beat = HeartbeatRequest::parse(&to_bytes(&HeartbeatRequest { worker_id: 7 })).unwrap();
        assert_eq!(beat, PoolWorkerId(7));
        let reason = ReasonRequest::parse(&to_bytes(&ReasonRequest { reason: "odd".into() })).unwrap();
        assert_eq!(&*reason.reason, "odd");
    }
}
