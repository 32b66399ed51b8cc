//! The PostgREST-style calls of PCs: claim, renew, complete, fail and sweep (Q14).

use muster_model::{
    Millis, Name, TaskId,
    ask::devices::{Claim, Renew},
};
use muster_problem::{Fields, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// How much ended because its time was over.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Swept {
    /// Runs.
    pub tasks: u32,
    /// Attempts.
    pub task_devices: u32,
}

/// A row that is to end, and who is said to hold it.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The row.
    pub task: TaskId,
    /// Worker that must hold it, if the caller named one.
    pub worker: Option<Name>,
    /// The result's JSON text, or the error's text.
    pub left: Option<Box<str>>,
}

/// Reads the arguments of `claim_task_devices_for_pc`.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_claim(body: &Value) -> Result<Claim, Problem> {
    let args = Fields::of(body)?;
    args.only(&["runner_pc_name", "runner_pc_id", "max_to_claim", "lease_minutes"])?;
    let worker = match (args.opt_name("runner_pc_name")?, args.opt_name("runner_pc_id")?) {
        (Some(name), Some(id)) if name != id => {
            return Err(args.refuse("runner_pc_id", "names another PC than runner_pc_name"));
        }
        (Some(pc), _) | (None, Some(pc)) => pc,
        (None, None) => return Err(args.refuse("runner_pc_name", "is missing; so is runner_pc_id")),
    };
    let max = args.opt_integer_in("max_to_claim", 0..=CLAIMS_MAX)?.unwrap_or(1);
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    Ok(Claim { worker, max, lease: lease(&args)? })
}

/// Reads the arguments of `renew_task_device_lease`.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_renew(body: &Value) -> Result<Renew, Problem> {
    let args = Fields::of(body)?;
    args.only(&["task_device_id", "runner_pc_id", "lease_minutes"])?;
    let (task, worker) = (row(&args, "task_device_id")?, args.name("runner_pc_id")?);
    Ok(Renew { task, worker, lease: lease(&args)? })
}

/// Reads the arguments of `complete_task_device`.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_complete(body: &Value) -> Result<Ending, Problem> {
    let args = Fields::of(body)?;
    args.only(&["p_task_device_id", "p_result", "runner_pc_id"])?;
    Ok(Ending {
        task: row(&args, "p_task_device_id")?,
        worker: args.opt_name("runner_pc_id")?,
        left: args.optional("p_result").map(|result| result.value.to_string().into()),
    })
}

/// Reads the arguments of `fail_or_retry_task_device`.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_fail(body: &Value) -> Result<Ending, Problem> {
    let args = Fields::of(body)?;
    args.only(&["p_task_device_id", "p_error", "runner_pc_id"])?;
    Ok(Ending {
        task: row(&args, "p_task_device_id")?,
        worker: args.opt_name("runner_pc_id")?,
        left: args.opt_text("p_error", ERROR_CHARS_MAX)?.map(Into::into),
    })
}

/// Reads the arguments of a function that takes none.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_nothing(body: Option<&Value>) -> Result<(), Problem> {
    body.filter(|body| !body.is_null()).map_or(Ok(()), |body| Fields::of(body)?.only(&[]))
}

/// A text that is no id of ours names no row, which is for the engine to say.
fn row(args: &Fields<'_>, key: &str) -> Result<TaskId, Problem> {
    Ok(args.text(key, ID_CHARS_MAX)?.parse().unwrap_or(TaskId::NIL))
}

fn lease(args: &Fields<'_>) -> Result<Millis, Problem> {
    let Some(item) = args.optional("lease_minutes") else {
        return Ok(LEASE_DEFAULT);
    };
    let minutes = item.value.as_f64().filter(|minutes| *minutes > 0.0 && *minutes <= MINUTES_MAX);
    let minutes =
        minutes.ok_or_else(|| item.refuse("must be a number of minutes, more than 0 and at most 1440"))?;
    #[allow(clippy::cast_possible_truncation, reason = "at most a day of milliseconds")]
    Ok(Millis((minutes * 60_000.0).round().max(1.0) as i64))
}

const CLAIMS_MAX: i64 = 1000;
const MINUTES_MAX: f64 = 1440.0;
const LEASE_DEFAULT: Millis = Millis::from_secs(300);
const ID_CHARS_MAX: usize = 4096;
const ERROR_CHARS_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ROW: &str = "01990000-0000-7000-8000-000000000001.0000007";

    fn claim(body: &Value) -> (String, u32, i64) {
        let Claim { worker, max, lease } = read_claim(body).unwrap();
        (worker.to_string(), max, lease.0)
    }

    fn blamed<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
        let problem = result.unwrap_err();
        assert_eq!(problem.status(), 422);
        problem.field().unwrap().to_owned()
    }

    /// Q14: a claim names its PC by name or id; one row for five minutes unless told otherwise.
    #[test]
    fn a_claim_is_understood() {
        assert_eq!(claim(&json!({"runner_pc_name": "PC-01"})), ("PC-01".to_owned(), 1, 300_000));
        let body = json!({"runner_pc_id": "PC-01", "runner_pc_name": null, "max_to_claim": 20, "lease_minutes": 0.5});
        assert_eq!(claim(&body), ("PC-01".to_owned(), 20, 30_000));
        assert_eq!(claim(&json!({"runner_pc_id": "a", "runner_pc_name": "a", "max_to_claim": 0})).1, 0);
        assert_eq!(claim(&json!({"runner_pc_id": "a", "lease_minutes": 1e-9})).2, 1);
    }

    /// Q14: a claim that cannot be meant is refused by field.
    #[test]
    fn a_wrong_claim_is_refused() {
        assert_eq!(blamed(read_claim(&json!({}))), "runner_pc_name");
        assert_eq!(blamed(read_claim(&json!({"runner_pc_name": "a", "runner_pc_id": "b"}))), "runner_pc_id");
        assert_eq!(blamed(read_claim(&json!({"runner_pc_name": ""}))), "runner_pc_name");
        assert_eq!(blamed(read_claim(&json!({"runner_pc_name": "a", "max": 1}))), "max");
        for bad in [json!(-1), json!(1001), json!("1"), json!(1.5)] {
            assert_eq!(
                blamed(read_claim(&json!({"runner_pc_name": "a", "max_to_claim": bad}))),
                "max_to_claim"
            );
        }
        for bad in [json!(0), json!(-1), json!(1440.5), json!("5"), json!(true)] {
            assert_eq!(
                blamed(read_claim(&json!({"runner_pc_name": "a", "lease_minutes": bad}))),
                "lease_minutes"
            );
        }
    }

    /// Q14: a renewal names the row, the holder and the time.
    #[test]
    fn a_renewal_is_understood() {
        let body = json!({"task_device_id": ROW, "runner_pc_id": "PC-01", "lease_minutes": 10});
        let Renew { task, worker, lease } = read_renew(&body).unwrap();
        assert_eq!((task.to_string().as_str(), worker.as_str(), lease.0), (ROW, "PC-01", 600_000));
        assert_eq!(blamed(read_renew(&json!({"task_device_id": ROW}))), "runner_pc_id");
        assert_eq!(blamed(read_renew(&json!({"runner_pc_id": "a"}))), "task_device_id");
    }

    /// Q14: a row is completed with any JSON, failed with a text, by its holder where that is said.
    #[test]
    fn an_ending_is_understood() {
        let done = read_complete(&json!({"p_task_device_id": ROW, "p_result": {"b": 1, "a": [2]}})).unwrap();
        assert_eq!(
            (done.task.to_string().as_str(), done.worker, done.left.as_deref()),
            (ROW, None, Some(r#"{"a":[2],"b":1}"#))
        );
        let done =
            read_complete(&json!({"p_task_device_id": "x", "p_result": null, "runner_pc_id": "PC-01"}))
                .unwrap();
        assert_eq!((done.task, done.left), (TaskId::NIL, None));
        assert_eq!(done.worker.unwrap().as_str(), "PC-01");
        let failed = read_fail(&json!({"p_task_device_id": ROW, "p_error": "no screen"})).unwrap();
        assert_eq!(failed.left.as_deref(), Some("no screen"));
        assert_eq!(blamed(read_fail(&json!({"p_task_device_id": ROW, "p_error": 5}))), "p_error");
        assert_eq!(blamed(read_fail(&json!({"p_task_device_id": 5}))), "p_task_device_id");
        assert_eq!(blamed(read_complete(&json!({"p_task_device_id": ROW, "p_results": 1}))), "p_results");
    }

    /// Q14: the sweep takes no arguments, given as `{}` or not at all.
    #[test]
    fn a_sweep_takes_nothing() {
        assert!(read_nothing(None).is_ok() && read_nothing(Some(&json!({}))).is_ok());
        assert_eq!(blamed(read_nothing(Some(&json!({"x": 1})))), "x");
        assert_eq!(blamed(read_nothing(Some(&json!([])))), "");
    }
}
