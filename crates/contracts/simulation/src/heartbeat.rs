//! Heartbeats (S2, S10) and the rebinding of a worker to a new term (S19), which has the same response.

use crate::{
    ResponseError, Task, limit,
    report::{opt_attempt, opt_task_id},
    response_fields::ResponseFields,
    to_bytes, worker,
};
use muster_model::{self as model, Beat, Heartbeat, Held, Millis, Name, Pressure, Ratio};
use muster_problem::{Fields, Item, Problem, WireMutant, planted};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// A heartbeat as a worker writes it (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// Fill ratio of the fullest queue.
    pub queue_ratio: Ratio,
    /// Load of the GPU.
    pub gpu_usage: Option<Ratio>,
    /// The last frame that was made.
    pub last_frame: Option<u64>,
    /// Free text; exactly `error` is an error report.
    pub status: Arc<str>,
    /// The round-trip time of the previous heartbeat.
    pub rtt: Option<Millis>,
}

/// The message of a worker that comes back after a new term began (S19).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebindRequest {
    /// The worker.
    #[serde(rename = "workerId", serialize_with = "text")]
    pub worker: Arc<str>,
    /// The newest epoch that it knows.
    pub epoch: u64,
    /// The task that it holds, as it was given.
    #[serde(rename = "currentTask", serialize_with = "opt_task")]
    pub task: Option<Arc<Task>>,
    /// The last frame that was made.
    pub last_frame: Option<u64>,
    /// The state that it was last told.
    #[serde(serialize_with = "text")]
    pub state: Arc<str>,
}

/// A rebind as the server reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRebind {
    /// The assignment that the worker holds.
    pub held: Option<Held>,
    /// The newest epoch that it knows.
    pub epoch: Option<u64>,
}

/// The response to a heartbeat and to a rebind (S2, S19). A server gives all fields; a worker makes do without them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct HeartbeatResponse {
    /// The worker's state; `zombie` for one that was removed and keeps calling, or never answered.
    #[serde(serialize_with = "opt_text")]
    #[schema(value_type = String, required = true)]
    pub state: Option<Arc<str>>,
    /// The epoch.
    #[schema(value_type = u64, required = true)]
    pub epoch: Option<u64>,
    /// How fast it may go.
    #[schema(value_type = Backpressure, required = true)]
    pub backpressure: Option<Backpressure>,
    /// What it is to do.
    pub commands: Vec<Order>,
}

/// How fast a worker may go (S10).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Backpressure {
    /// `ok`, `caution`, `slow` or `pause`.
    #[serde(serialize_with = "text")]
    #[schema(value_type = String)]
    pub level: Arc<str>,
    /// What is left of the frame rate: 1, 0.9, 0.7 or 0.
    #[serde(serialize_with = "ratio_value")]
    #[schema(value_type = f64)]
    pub factor: Ratio,
}

/// An order to a worker: `rebind`, `reregister`, `pause`, `resume`, or `{"stop": taskId}` (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Report the held task.
    Rebind,
    /// Stop everything and register again.
    Reregister,
    /// Stand still.
    Pause,
    /// Go on.
    Resume,
    /// End this task.
    Stop(Arc<str>),
}

impl HeartbeatRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = json!({
            "queueRatio": self.queue_ratio.value(),
            "lastFrame": self.last_frame,
            "status": &*self.status,
        });
        if let Some(usage) = self.gpu_usage {
            body["gpuUsage"] = json!(usage.value());
        }
        if let Some(rtt) = self.rtt {
            body["rttMs"] = json!(rtt.0);
        }
        to_bytes(&body)
    }
}

/// Reads a heartbeat. `"error"` is an error report, any other status is not (S2).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_heartbeat(body: &Value, worker: Name) -> Result<Heartbeat, Problem> {
    let fields = Fields::of(body)?;
    Ok(Heartbeat {
        worker,
        queue_ratio: read_ratio(&fields.required("queueRatio")?)?,
        gpu_usage: fields.optional("gpuUsage").map(|item| read_ratio(&item)).transpose()?,
        last_frame: fields.opt_integer_in("lastFrame", 0..=limit::WHOLE)?.map(i64::unsigned_abs),
        error: fields.opt_text("status", limit::STATUS_CHARS)? == Some("error"),
        rtt: fields.opt_non_negative("rttMs")?.map(millis),
    })
}

impl RebindRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

/// Reads a rebind (S19).
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_rebind(body: &Value) -> Result<ReceivedRebind, Problem> {
    let fields = Fields::of(body)?;
    let epoch = fields.opt_integer_in("epoch", 0..=limit::WHOLE)?.map(i64::unsigned_abs);
    let Some(task) = fields.opt_fields("currentTask")? else {
        return Ok(ReceivedRebind { held: None, epoch });
    };
    let chunk = task.fields("globalIdChunk")?.integer_in("chunkId", 1..=i64::MAX)?.unsigned_abs();
    let attempt = opt_attempt(&task)?.ok_or_else(|| task.refuse("attempt", "is missing"))?;
    let id = opt_task_id(&task)?.ok_or_else(|| task.refuse("taskId", "is missing"))?;
    let chunk = chunk + u64::from(planted(WireMutant::RebindChunkOneTooHigh));
    Ok(ReceivedRebind { held: Some(Held { task: id, attempt, chunk }), epoch })
}

impl HeartbeatResponse {
    /// The response to a beat. A worker that was removed and calls all the same is a zombie (S6).
    #[must_use]
    pub fn new(beat: Beat) -> Self {
        Self {
            state: Some(worker::state_word(beat.state, true).into()),
            epoch: Some(beat.epoch).filter(|_| !planted(WireMutant::HeartbeatEpochLeftOut)),
            backpressure: Some(Backpressure::new(beat.pressure)),
            commands: beat.orders.into_iter().map(Order::from).collect(),
        }
    }

    /// Reads a response. Orders of a later version are ignored.
    ///
    /// # Errors
    /// It is not such a response.
    pub fn read(bytes: &[u8]) -> Result<Self, ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        let backpressure = match fields.object("backpressure")? {
            Some(backpressure) => Backpressure::read(&backpressure)?,
            None => None,
        };
        let commands: Vec<Value> = fields.find("commands")?.unwrap_or_default();
        Ok(Self {
            state: fields.find::<String>("state")?.map(Arc::from),
            epoch: fields.find("epoch")?,
            backpressure,
            commands: commands.iter().filter_map(Order::read).collect(),
        })
    }
}

impl Backpressure {
    /// The level and its factor.
    #[must_use]
    pub fn new(pressure: Pressure) -> Self {
        Self { level: pressure.as_str().into(), factor: Ratio(pressure.percent() * 10_000) }
    }

    fn read(fields: &ResponseFields<'_>) -> Result<Option<Self>, ResponseError> {
        let level = fields.find::<String>("level")?.unwrap_or_default().into();
        let factor = fields.find::<f64>("factor")?.and_then(|factor| Ratio::new(factor.min(1.0)));
        Ok(factor.map(|factor| Self { level, factor }))
    }
}

impl Order {
    fn read(command: &Value) -> Option<Self> {
        match command.as_str() {
            Some("rebind") => Some(Self::Rebind),
            Some("reregister") => Some(Self::Reregister),
            Some("pause") => Some(Self::Pause),
            Some("resume") => Some(Self::Resume),
            Some(_) => None,
            None if planted(WireMutant::StopOrderNotRead) => None,
            None => Some(Self::Stop(command.get("stop")?.as_str()?.into())),
        }
    }
}

impl From<model::Order> for Order {
    fn from(order: model::Order) -> Self {
        match order {
            model::Order::Rebind => Self::Rebind,
            model::Order::Reregister => Self::Reregister,
            model::Order::Pause => Self::Pause,
            model::Order::Resume => Self::Resume,
            model::Order::Stop(task) => Self::Stop(task.to_string().into()),
        }
    }
}

impl Serialize for Order {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rebind => to.serialize_str("rebind"),
            Self::Reregister => to.serialize_str("reregister"),
            Self::Pause => to.serialize_str("pause"),
            Self::Resume => to.serialize_str("resume"),
            Self::Stop(task) => {
                let mut stop = to.serialize_map(Some(1))?;
                stop.serialize_entry("stop", &**task)?;
                stop.end()
            }
        }
    }
}

/// Reads a ratio.
pub(crate) fn read_ratio(item: &Item<'_>) -> Result<Ratio, Problem> {
    Ratio::new(item.non_negative()?).ok_or_else(|| item.refuse("must be a number from 0 on"))
}

/// Writes a shared text; serde knows no `Arc` without a feature that every crate would have to be built with.
pub(crate) fn text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

#[allow(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn opt_text<S: Serializer>(text: &Option<Arc<str>>, to: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(to)
}

#[allow(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn opt_task<S: Serializer>(task: &Option<Arc<Task>>, to: S) -> Result<S::Ok, S::Error> {
    task.as_deref().serialize(to)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn ratio_value<S: Serializer>(ratio: &Ratio, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(ratio.value())
}

fn millis(number: f64) -> Millis {
    #[allow(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
    Millis(number.ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::example;
    use muster_model::{Order as Ordered, RendererState};

    fn worker() -> Name {
        Name::new("worker-a").unwrap()
    }

    fn blamed<T: std::fmt::Debug>(read: Result<T, Problem>) -> String {
        let problem = read.unwrap_err();
        assert_eq!(problem.status(), 422);
        problem.field().unwrap().to_owned()
    }

    fn value(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    /// S2: a heartbeat as the contract has it, written and read.
    #[test]
    fn golden_heartbeat() {
        let body =
            json!({"queueRatio": 0.42, "gpuUsage": 0.91, "lastFrame": 1234, "status": "ok", "rttMs": 12});
        let request = HeartbeatRequest {
            queue_ratio: Ratio(420_000),
            gpu_usage: Some(Ratio(910_000)),
            last_frame: Some(1234),
            status: "ok".into(),
            rtt: Some(Millis(12)),
        };
        assert_eq!(value(&request.to_bytes()), body);
        let expected = Heartbeat {
            worker: worker(),
            queue_ratio: Ratio(420_000),
            gpu_usage: Some(Ratio(910_000)),
            last_frame: Some(1234),
            error: false,
            rtt: Some(Millis(12)),
        };
        assert_eq!(read_heartbeat(&body, worker()).unwrap(), expected);
        let least = HeartbeatRequest { gpu_usage: None, last_frame: None, rtt: None, ..request };
        let body = value(&least.to_bytes());
        assert_eq!((body.get("gpuUsage"), body.get("rttMs")), (None, None));
        assert_eq!(read_heartbeat(&body, worker()).unwrap().rtt, None);
    }

    /// S2: exactly "error" is an error report; the rest of a heartbeat is numbers from 0 on.
    #[test]
    fn only_error_is_an_error() {
        let with = |key: &str, value: Value| {
            let mut body = json!({"queueRatio": 0.5});
            body[key] = value;
            read_heartbeat(&body, worker())
        };
        assert!(with("status", json!("error")).unwrap().error);
        for word in ["Error", "error ", "an error", "ok", ""] {
            assert!(!with("status", json!(word)).unwrap().error, "{word}");
        }
        assert_eq!(with("rttMs", json!(500.2)).unwrap().rtt, Some(Millis(501)));
        for (key, bad) in [
            ("queueRatio", json!(-0.1)),
            ("queueRatio", json!("0.5")),
            ("queueRatio", json!(null)),
            ("gpuUsage", json!(-1)),
            ("lastFrame", json!(-1)),
            ("lastFrame", json!(1.5)),
            ("status", json!(7)),
            ("rttMs", json!(-1)),
        ] {
            assert_eq!(blamed(with(key, bad)), key);
        }
    }

    /// S2, S10: the response to a heartbeat, with every order and every level, written and read.
    #[test]
    fn golden_heartbeat_response() {
        let orders = vec![
            Ordered::Rebind,
            Ordered::Reregister,
            Ordered::Pause,
            Ordered::Resume,
            Ordered::Stop("s1.00000100".parse().unwrap()),
        ];
        let beat = Beat { state: RendererState::Healthy, epoch: 3, pressure: Pressure::Caution, orders };
        let expected = json!({"state": "Healthy", "epoch": 3, "backpressure": {"level": "caution", "factor": 0.9},
            "commands": ["rebind", "reregister", "pause", "resume", {"stop": "s1.00000100"}]});
        let response = HeartbeatResponse::new(beat);
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
        assert_eq!(HeartbeatResponse::read(&to_bytes(&response)).unwrap(), response);
        for (pressure, level, factor) in
            [(Pressure::Ok, "ok", 1.0), (Pressure::Slow, "slow", 0.7), (Pressure::Pause, "pause", 0.0)]
        {
            let shown = serde_json::to_value(Backpressure::new(pressure)).unwrap();
            assert_eq!(shown, json!({"level": level, "factor": factor}));
        }
    }

    /// S2: a worker ignores the orders of a later version, and makes do with what a response has.
    #[test]
    fn a_response_is_read_leniently() {
        let text = br#"{"state":"Degraded","commands":["dance",{"jump":1},7,{"stop":"t1"}]}"#;
        let response = HeartbeatResponse::read(text).unwrap();
        assert_eq!(
            (response.commands, response.state.as_deref()),
            (vec![Order::Stop("t1".into())], Some("Degraded"))
        );
        assert_eq!(HeartbeatResponse::read(b"{}").unwrap(), HeartbeatResponse::default());
        let fast = HeartbeatResponse::read(br#"{"backpressure":{"factor":7}}"#).unwrap();
        assert_eq!(fast.backpressure.unwrap().factor, Ratio(1_000_000));
        let error = HeartbeatResponse::read(br#"{"epoch":"x"}"#).unwrap_err();
        assert!(error.to_string().starts_with("epoch"));
    }

    /// S19: a worker that comes back names its task as it was given, or none.
    #[test]
    fn golden_rebind() {
        let request = RebindRequest {
            worker: "worker-a".into(),
            epoch: 2,
            task: Some(Arc::new(example())),
            last_frame: Some(120),
            state: "Healthy".into(),
        };
        let body = value(&request.to_bytes());
        assert_eq!(Task::read(body["currentTask"].to_string().as_bytes()).unwrap(), example());
        let held = Held { task: "demo.00000000".parse().unwrap(), attempt: 1, chunk: 5 };
        assert_eq!(read_rebind(&body).unwrap(), ReceivedRebind { held: Some(held), epoch: Some(2) });
        let none = RebindRequest { task: None, ..request };
        let expected = json!({"workerId": "worker-a", "epoch": 2, "currentTask": null, "lastFrame": 120,
            "state": "Healthy"});
        assert_eq!(value(&none.to_bytes()), expected);
        assert_eq!(
            read_rebind(&json!({"currentTask": null})).unwrap(),
            ReceivedRebind { held: None, epoch: None }
        );
        let bad = json!({"currentTask": {"taskId": "s1.00000100", "attempt": 1}});
        assert_eq!(blamed(read_rebind(&bad)), "currentTask.globalIdChunk");
    }
}
