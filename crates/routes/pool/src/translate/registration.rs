//! Workers as their owners bring them (P3, P5, P14).

use super::{limit, specs::specs};
use crate::shape::{Shape, read};
use muster_http::Problem;
use muster_model::{PoolRegistration, PoolWorkerId, UserId};
use muster_proof::json::{Kind, Value};

/// Reads the body of `POST /workers/register`.
pub(crate) fn read_registration(body: &[u8], owner: UserId) -> Result<PoolRegistration, Problem> {
    read(body, |fields| {
        let specs_json = fields.opt_object_within("specs_json", limit::SPECS_BYTES);
        let keys = specs_json.and_then(|specs| specs.as_object()).map_or(0, |specs| specs.len());
        if keys > limit::SPECS_KEYS {
            fields.blame("specs_json", format!("Input should have at most {} members", limit::SPECS_KEYS));
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

/// Reads the body of `PUT /workers/{id}/key`.
pub(crate) fn read_public_key(body: &[u8]) -> Result<Box<str>, Problem> {
    read(body, |fields| fields.text("public_key", 0..=limit::PUBLIC_KEY_CHARS))
}

/// Reads the body of `POST /workers/heartbeat`.
pub(crate) fn read_beat(body: &[u8]) -> Result<PoolWorkerId, Problem> {
    read(body, |fields| PoolWorkerId(fields.id("worker_id")))
}

/// Reads the body of `POST /workers/{id}/ban` and `/unban`.
pub(crate) fn read_reason(body: &[u8]) -> Result<Box<str>, Problem> {
    read(body, |fields| fields.text("reason", 1..=limit::REASON_CHARS))
}

/// How many assignments it takes at a time (P3). One that cannot be counted is refused: a worker that would silently do
/// one at a time is found out late.
fn slots(fields: &mut Shape<'_, '_, '_>, specs: Option<&Value<'_>>) -> u32 {
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

    fn registration(body: &str) -> Result<PoolRegistration, String> {
        read_registration(body.as_bytes(), UserId(7)).map_err(|problem| problem.detail().to_owned())
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
}
