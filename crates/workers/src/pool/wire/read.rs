//! What a worker is told.

use super::super::{
    Assignment, Secret,
    core::{Known, Spooled, Started},
};
use muster_model::Millis;
use muster_worker_kit::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Why a text is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It is no JSON, or not of the right shape.
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    /// A field holds what it may not.
    #[error("{field}: {why}")]
    Field {
        /// Which.
        field: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// Reads a token, and how long it lasts (P1).
pub fn read_token(bytes: &[u8]) -> Result<(Secret, Option<Millis>), WireError> {
    #[derive(Deserialize)]
    struct Token {
        access_token: String,
        expires_in: Option<f64>,
    }
    let Token { access_token, expires_in } = serde_json::from_slice(bytes)?;
    if access_token.is_empty() || !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(WireError::Field { field: "access_token", why: "does not fit in a header" });
    }
    let lasts = expires_in.filter(|seconds| *seconds > 0.0).map(|seconds| Millis((seconds * 1000.0) as i64));
    Ok((Secret::new(access_token), lasts))
}

/// Reads a worker (P3).
pub fn read_worker(bytes: &[u8], reads_old_name: bool) -> Result<Known, WireError> {
    Ok(serde_json::from_slice::<Worker<'_>>(bytes)?.known(reads_old_name))
}

/// Reads a list of workers (P4).
pub fn read_workers(bytes: &[u8], reads_old_name: bool) -> Result<Vec<Known>, WireError> {
    #[derive(Deserialize)]
    struct Workers<'a> {
        #[serde(borrow)]
        workers: Vec<Worker<'a>>,
    }
    let workers: Workers<'_> = serde_json::from_slice(bytes)?;
    Ok(workers.workers.into_iter().map(|worker| worker.known(reads_old_name)).collect())
}

/// Reads the answer to a heartbeat: when the server last heard of the worker (P5).
pub fn read_beat(bytes: &[u8], reads_old_name: bool) -> Result<Option<Text>, WireError> {
    #[derive(Deserialize)]
    struct Seen {
        last_seen_at: Option<String>,
        last_heartbeat_at: Option<String>,
    }
    let Seen { last_seen_at, last_heartbeat_at } = serde_json::from_slice(bytes)?;
    Ok(last_seen(last_seen_at, last_heartbeat_at.filter(|_| reads_old_name)))
}

/// Reads the answer to a poll (P6).
pub fn read_assignment(bytes: &[u8]) -> Result<Assignment, WireError> {
    let handed: Handed<'_> = serde_json::from_slice(bytes)?;
    handed.assignment()
}

/// Reads what a worker has started (P6). One that makes no sense is passed over: the others can be done.
///
/// A server that does not know the question answers it like a poll.
pub fn read_started(bytes: &[u8]) -> Result<Started, WireError> {
    #[derive(Deserialize)]
    struct Assignments<'a> {
        #[serde(borrow)]
        assignments: Option<Vec<&'a RawValue>>,
    }
    let Some(found) = serde_json::from_slice::<Assignments<'_>>(bytes)?.assignments else {
        return read_assignment(bytes).map(Started::One);
    };
    let read = |text: &RawValue| {
        let read = read_assignment(text.get().as_bytes());
        read.inspect_err(|error| tracing::warn!(%error, "an assignment makes no sense and is passed over"))
    };
    Ok(Started::All(found.into_iter().filter_map(|text| read(text).ok()).collect()))
}

/// Reads of which assignment a result was taken (P7).
pub fn read_submitted(bytes: &[u8]) -> Result<u64, WireError> {
    #[derive(Deserialize)]
    struct Taken {
        assignment_id: u64,
    }
    Ok(serde_json::from_slice::<Taken>(bytes)?.assignment_id)
}

/// Reads back a result that was written down.
pub fn read_spooled(bytes: &[u8]) -> Result<Spooled, WireError> {
    #[derive(Deserialize)]
    struct Submission {
        worker_id: u64,
        assignment_id: u64,
        nonce: String,
        error_message: Option<serde::de::IgnoredAny>,
    }
    let submission: Submission = serde_json::from_slice(bytes)?;
    Ok(Spooled {
        worker: submission.worker_id,
        assignment: submission.assignment_id,
        nonce: submission.nonce.into(),
        is_error: submission.error_message.is_some(),
    })
}

#[derive(Deserialize)]
struct Worker<'a> {
    id: u64,
    name: String,
    public_key: Option<String>,
    #[serde(borrow)]
    specs_json: Option<&'a RawValue>,
    last_seen_at: Option<String>,
    last_heartbeat_at: Option<String>,
}

impl Worker<'_> {
    fn known(self, reads_old_name: bool) -> Known {
        #[derive(Deserialize)]
        struct Specs {
            slots: Option<u64>,
        }
        let specs = self.specs_json.and_then(|text| serde_json::from_str::<Specs>(text.get()).ok());
        Known {
            id: self.id,
            name: self.name.into(),
            key: self.public_key.map(Into::into),
            slots: specs.and_then(|specs| specs.slots),
            last_seen: last_seen(self.last_seen_at, self.last_heartbeat_at.filter(|_| reads_old_name)),
        }
    }
}

/// When a server last heard of a worker; one that was not migrated calls it by its old name (P12).
fn last_seen(seen: Option<String>, heartbeat: Option<String>) -> Option<Text> {
    seen.or(heartbeat).map(Into::into)
}

#[derive(Deserialize)]
struct Handed<'a> {
    assignment_id: u64,
    nonce: String,
    #[serde(borrow)]
    job: &'a RawValue,
}

impl Handed<'_> {
    fn assignment(self) -> Result<Assignment, WireError> {
        if self.nonce.is_empty() || self.nonce.chars().count() > NONCE_CHARS_MAX {
            return Err(WireError::Field { field: "nonce", why: "has not 1 to 128 characters" });
        }
        if self.assignment_id >= ID_END {
            return Err(WireError::Field { field: "assignment_id", why: "is not below 2^53" });
        }
        Ok(Assignment { id: self.assignment_id, nonce: self.nonce.into(), job: self.job.get().into() })
    }
}

const NONCE_CHARS_MAX: usize = 128;
/// From here on integers are no longer exact everywhere.
const ID_END: u64 = 1 << 53;

#[cfg(test)]
mod tests {
    use super::*;

    /// P12: `last_seen_at` is read, else `last_heartbeat_at`.
    #[test]
    fn both_names_of_the_last_sign_of_life_are_read() {
        let worker_of = |seen: &str, reads_old_name| {
            let text = format!(r#"{{"workers":[{{"id":7,"name":"W","owner_user_id":1{seen}}}]}}"#);
            read_workers(text.as_bytes(), reads_old_name).unwrap().remove(0).last_seen
        };
        let worker = |seen: &str| worker_of(seen, true);
        let (new, old) = (r#","last_seen_at":"new""#, r#","last_heartbeat_at":"old""#);
        assert_eq!(worker(&format!("{old}{new}")).as_deref(), Some("new"));
        assert_eq!(worker(old).as_deref(), Some("old"));
        assert_eq!(worker(&format!(r#"{old},"last_seen_at":null"#)).as_deref(), Some("old"));
        assert_eq!(worker("").as_deref(), None);
        let beat = |reads| read_beat(br#"{"worker_id":7,"last_heartbeat_at":"old"}"#, reads).unwrap();
        assert_eq!(beat(true).as_deref(), Some("old"));
        assert_eq!((worker_of(old, false), beat(false)), (None, None), "it is switched off");
        assert_eq!(worker_of(new, false).as_deref(), Some("new"));
    }

    /// P3: a worker as the contract has it.
    #[test]
    fn a_worker_is_read() {
        let text = br#"{"id":7,"name":"W","owner_user_id":10,"status":"offline","region":null,
            "specs_json":{"slots":4,"gpu":"x"},"public_key":"K","last_seen_at":null}"#;
        let known = Known { id: 7, name: "W".into(), key: Some("K".into()), slots: Some(4), last_seen: None };
        assert_eq!(read_worker(text, true).unwrap(), known);
        let odd =
            read_worker(br#"{"id":7,"name":"W","specs_json":{"slots":"many"},"public_key":null}"#, true);
        assert_eq!(odd.unwrap(), Known { key: None, slots: None, ..known });
        assert!(read_worker(br#"{"id":-1,"name":"W"}"#, true).is_err());
    }

    /// P6: an assignment as the contract has it; the payload is kept as it was written.
    #[test]
    fn an_assignment_is_read() {
        let text = r#"{"assignment_id":15,"job":{"a": 1e999,"n":123456789012345678901234567890},"nonce":"n",
            "cost_hint_tokens":99}"#;
        let assignment = read_assignment(text.as_bytes()).unwrap();
        assert_eq!((assignment.id, &*assignment.nonce), (15, "n"));
        assert_eq!(&*assignment.job, r#"{"a": 1e999,"n":123456789012345678901234567890}"#);
        for wrong in ["\"nonce\":\"\"", &format!("\"nonce\":\"{}\"", "x".repeat(129))] {
            let error = read_assignment(text.replace("\"nonce\":\"n\"", wrong).as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("nonce"), "{error}");
        }
        assert!(read_assignment(text.replace("15", "9007199254740992").as_bytes()).is_err());
    }

    /// P6: what is started is read one by one; a server without resume answers with one, or with none.
    #[test]
    fn what_is_started_is_read() {
        let one = r#"{"assignment_id":15,"job":{},"nonce":"n","cost_hint_tokens":0}"#;
        let ids = |text: &str| match read_started(text.as_bytes()).unwrap() {
            Started::All(found) => found.iter().map(|assignment| assignment.id).collect(),
            Started::One(found) => vec![0, found.id],
            Started::TooLong => panic!("it was read"),
        };
        assert!(ids(r#"{"assignments":[]}"#).is_empty());
        assert_eq!(ids(&format!(r#"{{"assignments":[{{"nonce":1}},{one}]}}"#)), [15]);
        assert_eq!(ids(one), [0, 15]);
        let deep = format!(
            r#"{{"assignments":[{{"assignment_id":1,"nonce":"n","job":{}1{}}}]}}"#,
            "[".repeat(127),
            "]".repeat(127)
        );
        assert_eq!(ids(&deep), [1]);
    }

    /// P1: a token as the contract has it; one that could break a header is refused, and not shown.
    #[test]
    fn a_token_is_read() {
        let text = br#"{"access_token":"t0ken","token_type":"bearer","expires_in":900}"#;
        assert_eq!(read_token(text).unwrap(), (Secret::new("t0ken"), Some(Millis(900_000))));
        let error = read_token(br#"{"access_token":"a\nb"}"#).unwrap_err().to_string();
        assert!(error.starts_with("access_token") && !error.contains('\n'), "{error}");
    }
}
