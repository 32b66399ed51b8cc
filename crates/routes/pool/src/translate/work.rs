//! Questions for work (P6, P19).

use super::{
    limit,
    result::{Handed, handed},
};
use crate::shape::{Shape, read};
use muster_http::Problem;
use muster_model::PoolWorkerId;
use std::time::Duration;

/// A poll.
pub(crate) struct Polled {
    pub(crate) worker: PoolWorkerId,
    pub(crate) start: bool,
    /// Those that were started are asked for, nothing new.
    pub(crate) resume: bool,
    pub(crate) wait: Duration,
}

/// Results and a question for more work.
pub(crate) struct Worked {
    pub(crate) worker: PoolWorkerId,
    pub(crate) results: Vec<Handed>,
    pub(crate) max: u32,
    pub(crate) start: bool,
    pub(crate) wait: Duration,
}

/// Reads the body of `POST /jobs/poll`.
pub(crate) fn read_poll(body: &[u8]) -> Result<Polled, Problem> {
    read(body, |fields| Polled {
        worker: PoolWorkerId(fields.id("worker_id")),
        start: fields.flag("start"),
        resume: fields.flag("resume"),
        wait: wait(fields),
    })
}

/// Reads the body of `POST /jobs/work`. Whoever hands something in is answered at once: what came
/// of it must not wait; nor need whoever wants nothing.
pub(crate) fn read_work(body: &[u8]) -> Result<Worked, Problem> {
    read(body, |fields| {
        let worker = fields.id("worker_id");
        let results = fields.list("submit", 0..=limit::WORK_RESULTS, |item| {
            if item.optional("worker_id").is_some() && item.id("worker_id") != worker {
                item.blame("worker_id", "Input should be the worker_id of the call");
            }
            handed(item)
        });
        let max = u32::try_from(fields.integer("max", 0..=limit::WORK_MAX)).unwrap_or_default();
        let (wait, start) = (wait(fields), fields.flag("start"));
        let waits = results.is_empty() && max > 0;
        let wait = if waits { wait } else { Duration::ZERO };
        Worked { worker: PoolWorkerId(worker), results, max, start, wait }
    })
}

fn wait(fields: &mut Shape<'_, '_, '_>) -> Duration {
    let millis = fields.opt_integer("wait_ms", 0..=limit::WAIT_MS).unwrap_or_default();
    Duration::from_millis(millis.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P6: at most 30 s; `start` and `resume` are optional.
    #[test]
    fn a_poll_is_read() {
        let poll = |body: &str| read_poll(body.as_bytes()).map_err(|problem| problem.detail().to_owned());
        let plain = poll(r#"{"worker_id": 4}"#).unwrap();
        assert_eq!((plain.worker, plain.start, plain.resume), (PoolWorkerId(4), false, false));
        assert_eq!(plain.wait, Duration::ZERO);
        let long = poll(r#"{"worker_id": 4, "wait_ms": 30000, "start": true}"#).unwrap();
        assert!(long.start && long.wait == Duration::from_secs(30));
        assert!(poll(r#"{"worker_id": 4, "resume": true}"#).unwrap().resume);
        for wrong in ["30001", "-1", "\"1\"", "1.5"] {
            let refused = poll(&format!(r#"{{"worker_id": 4, "wait_ms": {wrong}}}"#)).err().unwrap();
            assert!(refused.starts_with("body.wait_ms: Input should be"), "{refused}");
        }
    }

    /// P19: results keep their own texts; whoever hands in something does not wait.
    #[test]
    fn a_call_for_work_is_read() {
        let work = |body: &str| read_work(body.as_bytes()).map_err(|problem| problem.detail().to_owned());
        let idle = work(r#"{"worker_id": 4, "submit": [], "max": 1000, "wait_ms": 9}"#).unwrap();
        assert_eq!((idle.max, idle.wait, idle.start), (1000, Duration::from_millis(9), false));
        assert_eq!(work(r#"{"worker_id": 4, "max": 0, "wait_ms": 9}"#).unwrap().wait, Duration::ZERO);
        let item = r#"{"assignment_id": 65, "nonce": "n", "signature": "s"}"#;
        let busy =
            work(&format!(r#"{{"worker_id": 4, "submit": [{item}, {item}], "max": 0, "wait_ms": 9}}"#))
                .unwrap();
        assert_eq!((busy.results.len(), busy.wait), (2, Duration::ZERO));
        assert_eq!(busy.results[0].digest, busy.results[1].digest);
        for (body, place) in [
            (r#"{"worker_id": 4, "submit": []}"#, "body.max: Field required"),
            (r#"{"worker_id": 4, "max": 1001}"#, "body.max: "),
            (r#"{"worker_id": 4, "max": 1, "submit": [{}]}"#, "body.submit.0.assignment_id: "),
            (
                r#"{"worker_id": 4, "max": 1, "submit": [{"worker_id": 5, "assignment_id": 1, "nonce": "n", "signature": ""}]}"#,
                "body.submit.0.worker_id: ",
            ),
        ] {
            assert!(work(body).err().unwrap().starts_with(place), "{body}");
        }
    }
}
