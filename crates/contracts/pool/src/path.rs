//! Ids in the path of a request. A text that is no id names nothing, so it is 404 and not 422.

use crate::refusal::{JOB_NOT_FOUND, WORKER_NOT_FOUND};
use muster_model::{PoolJobId, PoolWorkerId};
use muster_problem::Problem;

/// Reads a worker's id.
///
/// # Errors
/// 404 as for a worker that does not exist.
pub fn read_worker_id(text: &str) -> Result<PoolWorkerId, Problem> {
    number(text).map(PoolWorkerId).ok_or_else(|| WORKER_NOT_FOUND.into())
}

/// Reads a job's id.
///
/// # Errors
/// 404 as for a job that does not exist.
pub fn read_job_id(text: &str) -> Result<PoolJobId, Problem> {
    let id = number(text).map(PoolJobId).filter(|id| *id <= PoolJobId::MAX);
    id.ok_or_else(|| JOB_NOT_FOUND.into())
}

/// A number in its one spelling.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P5, P13: an id has one spelling; any other text names nothing.
    #[test]
    fn an_id_has_one_spelling() {
        assert_eq!(read_worker_id("7").unwrap(), PoolWorkerId(7));
        assert_eq!(read_job_id("7").unwrap(), PoolJobId(7));
        for bad in ["", "07", "+7", "7.0", "x", "99999999999999999999"] {
            assert_eq!(read_worker_id(bad).unwrap_err().detail(), "Worker not found");
            assert_eq!(read_job_id(bad).unwrap_err().detail(), "Job not found");
        }
        assert!(read_job_id(&(PoolJobId::MAX.0 + 1).to_string()).is_err());
    }
}
