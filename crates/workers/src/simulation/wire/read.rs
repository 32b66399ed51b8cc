//! What a master says.

use super::super::{
    Secret, Task,
    core::{Heard, Order, Pulled, Registration},
};
use super::fields::{Fields, WireError};
use muster_model::{FrameRange, IdRange, Millis, Ratio};
use muster_worker_kit::Text;
use serde_json::Value;

/// Reads the answer to a registration (S1), and the token in it.
///
/// # Errors
/// It is none.
pub fn read_registration(bytes: &[u8]) -> Result<(Registration, Secret), WireError> {
    let fields = Fields::read(bytes)?;
    let token: String = fields.get("workerToken")?;
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let why = "is nothing that fits in a header".to_owned();
        return Err(WireError::Field { field: "workerToken", why });
    }
    let interval = fields.find::<u32>("heartbeatIntervalMs")?.map_or(INTERVAL, |ms| Millis(ms.into()));
    Ok((Registration { interval, epoch: fields.get("epoch")? }, Secret::new(token)))
}

/// Reads the answer to a heartbeat or a rebind (S2). Commands of a later version are passed over.
///
/// # Errors
/// It is none.
pub fn read_heard(bytes: &[u8]) -> Result<Heard, WireError> {
    let fields = Fields::read(bytes)?;
    let factor = match fields.object("backpressure")? {
        Some(backpressure) => backpressure.find::<f64>("factor")?,
        None => None,
    };
    let commands: Vec<Value> = fields.find("commands")?.unwrap_or_default();
    Ok(Heard {
        state: fields.find::<String>("state")?.map(Text::from),
        epoch: fields.find("epoch")?,
        pace: factor.and_then(|factor| Ratio::new(factor.min(1.0))),
        orders: commands.iter().filter_map(order).collect(),
    })
}

/// Reads the answer to a pull (S3).
///
/// # Errors
/// It is none; a task of which no sense can be made is told as such, since its answer may depend on that.
pub fn read_pull(bytes: &[u8]) -> Result<Pulled, WireError> {
    let fields = Fields::read(bytes)?;
    let Some(task) = fields.raw("task").filter(|task| *task != "null") else { return Ok(Pulled::Nothing) };
    match read_task(task.as_bytes()) {
        Ok(task) => Ok(Pulled::Task(Box::new(task))),
        Err(error) => Ok(Pulled::Wrong { task: name_of(task), why: error.to_string().into() }),
    }
}

/// Reads a task (S3).
///
/// # Errors
/// It is none; the field is named.
pub fn read_task(bytes: &[u8]) -> Result<Task, WireError> {
    let fields = Fields::read(bytes)?;
    let chunk = fields.object("globalIdChunk")?;
    let chunk = chunk.ok_or(WireError::Field { field: "globalIdChunk", why: "is missing".to_owned() })?;
    let (start, end) = fields.get("frameRange")?;
    let task = Task {
        id: fields.get::<String>("taskId")?.into(),
        session: fields.get::<String>("sessionId")?.into(),
        scenario: fields.raw("scenario").unwrap_or("null").into(),
        cameras: fields.raw("cameras").filter(|cameras| cameras.starts_with('[')).map(Text::from),
        frames: FrameRange { start, end },
        ids: read_chunk(&chunk)?,
        attempt: fields.get("attempt")?,
        epoch: fields.get("epoch")?,
        directory: fields.get::<String>("outputDirectory")?.into(),
        replay: fields.find("replay")?.unwrap_or_default(),
    };
    task.check()?;
    Ok(task)
}

/// Reads the message that a worker was removed (S6).
///
/// # Errors
/// It is no such message, or it is for another worker.
pub fn read_removal(bytes: &[u8], worker: &str) -> Result<(), WireError> {
    let fields = Fields::read(bytes)?;
    if fields.get::<String>("workerId")? != worker {
        return Err(WireError::Field { field: "workerId", why: format!("is not {worker}") });
    }
    if !fields.get::<bool>("removed")? {
        return Err(WireError::Field { field: "removed", why: "is not true".to_owned() });
    }
    Ok(())
}

/// Reads a further chunk of ids (S1).
///
/// # Errors
/// It is none.
pub fn read_ids(bytes: &[u8]) -> Result<IdRange, WireError> {
    let fields = Fields::read(bytes)?;
    let ids = match fields.object("globalIdChunk")? {
        Some(chunk) => read_chunk(&chunk)?,
        None => read_chunk(&fields)?,
    };
    if ids.start < ids.end {
        return Ok(ids);
    }
    Err(WireError::Field { field: "range", why: format!("[{}, {}) is empty", ids.start, ids.end) })
}

fn read_chunk(fields: &Fields<'_>) -> Result<IdRange, WireError> {
    let (start, end) = fields.get("range")?;
    Ok(IdRange { chunk: fields.get("chunkId")?, start, end })
}

fn order(command: &Value) -> Option<Order> {
    match command.as_str() {
        Some("rebind") => Some(Order::Rebind),
        Some("reregister") => Some(Order::Reregister),
        Some("pause") => Some(Order::Pause),
        Some("resume") => Some(Order::Resume),
        Some(_) => None,
        None => Some(Order::Stop(command.get("stop")?.as_str()?.into())),
    }
}

/// Which task it would be, as far as that can be told.
fn name_of(task: &str) -> Option<(Text, u32)> {
    let fields = Fields::read(task.as_bytes()).ok()?;
    let id: String = fields.get("taskId").ok()?;
    Some((id.into(), fields.get("attempt").ok()?))
}

/// S2: how often, where the master does not say.
const INTERVAL: Millis = Millis(1_000);

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"{"taskId":"demo.00000100","sessionId":"demo","scenario":{"fps": 25, "x":1.50},
        "cameras":["left", {"id": 2}],"frameRange":[100,200],"globalIdChunk":{"chunkId":2,"range":[1000000,2000000]},"attempt":1,"epoch":3,
        "outputDirectory":"/out/session_demo/chunks/2","replay":true,"later":[1]}"#;

    /// S3: a task as the contract has it; fields of a later version do no harm, the scenario stays as it was written.
    #[test]
    fn a_task_is_read() {
        let task = read_task(TASK.as_bytes()).unwrap();
        assert_eq!(&*task.scenario, r#"{"fps": 25, "x":1.50}"#);
        assert_eq!(task.cameras.as_deref(), Some(r#"["left", {"id": 2}]"#));
        assert_eq!(task.frames, FrameRange { start: 100, end: 200 });
        assert_eq!(task.ids, IdRange { chunk: 2, start: 1_000_000, end: 2_000_000 });
        assert_eq!((task.attempt, task.epoch, task.replay), (1, 3, true));
    }

    /// S3: whatever is wrong with a task is named, and a master that gave it can be told.
    #[test]
    fn what_is_wrong_with_a_task_is_named() {
        for (field, right, wrong) in [
            ("taskId", "\"demo.00000100\"", "7"),
            ("taskId", "\"taskId\"", "\"task\""),
            ("frameRange", "[100,200]", "[100,200,300]"),
            ("frameRange", "[100,200]", "[-1,200]"),
            ("globalIdChunk", "{\"chunkId\":2,\"range\":[1000000,2000000]}", "[1]"),
            ("chunkId", "\"chunkId\":2", "\"chunk\":2"),
            ("attempt", "\"attempt\":1", "\"attempt\":1.5"),
            ("epoch", "\"epoch\":3", "\"epoch\":null"),
            ("outputDirectory", "\"/out", "\"out"),
            ("replay", "\"replay\":true", "\"replay\":\"yes\""),
        ] {
            let text = TASK.replacen(right, wrong, 1);
            let error = read_task(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(field), "{error}");
        }
        let text = TASK.replace("[100,200]", "[200,100]");
        let Pulled::Wrong { task, why } = read_pull(format!("{{\"task\":{text}}}").as_bytes()).unwrap()
        else {
            panic!("that is no task")
        };
        assert_eq!(task, Some(("demo.00000100".into(), 1)));
        assert_eq!(&*why, "frameRange [200, 100) is empty");
    }

    /// S3: a pull brings a task or nothing.
    #[test]
    fn a_pull_is_read() {
        assert_eq!(read_pull(br#"{"task":null}"#).unwrap(), Pulled::Nothing);
        assert_eq!(read_pull(b"{}").unwrap(), Pulled::Nothing);
        let task = format!("{{\"task\":{TASK}}}");
        assert!(matches!(read_pull(task.as_bytes()).unwrap(), Pulled::Task(_)));
        assert!(read_pull(b"<html>").is_err() && read_pull(b"[]").is_err() && read_pull(&[0xff]).is_err());
    }

    /// S2: the answer to a heartbeat; commands that nobody here knows are passed over.
    #[test]
    fn the_answer_to_a_heartbeat_is_read() {
        let text = br#"{"state":"Degraded","epoch":4,"backpressure":{"level":"slow","factor":0.7},
            "commands":["rebind","reregister","pause","resume",{"stop":"t1"},"dance",{"jump":1},7]}"#;
        let orders =
            vec![Order::Rebind, Order::Reregister, Order::Pause, Order::Resume, Order::Stop("t1".into())];
        let pace = Some(Ratio(700_000));
        let heard = Heard { state: Some("Degraded".into()), epoch: Some(4), pace, orders };
        assert_eq!(read_heard(text).unwrap(), heard);
        assert_eq!(read_heard(b"{}").unwrap(), Heard::default());
        assert_eq!(read_heard(br#"{"backpressure":{"factor":7}}"#).unwrap().pace, Some(Ratio(1_000_000)));
        assert!(read_heard(br#"{"epoch":"x"}"#).unwrap_err().to_string().starts_with("epoch"));
    }

    /// S1: the answer to a registration; a token that does not fit in a header is refused here.
    #[test]
    fn the_answer_to_a_registration_is_read() {
        let text = br#"{"workerId":"W1","workerToken":"t0ken","idRangeEndpoint":"/api/v1/id-ranges",
            "heartbeatIntervalMs":500,"epoch":7}"#;
        let (registration, token) = read_registration(text).unwrap();
        assert_eq!(registration, Registration { interval: Millis(500), epoch: 7 });
        assert_eq!(token, Secret::new("t0ken"));
        let error = read_registration(br#"{"workerToken":"a\nb","epoch":7}"#).unwrap_err().to_string();
        assert!(error.starts_with("workerToken") && !error.contains("a\nb"), "{error}");
    }

    /// S1: further ids, whether named or wrapped.
    #[test]
    fn further_ids_are_read() {
        let ids = IdRange { chunk: 9, start: 5, end: 8 };
        assert_eq!(read_ids(br#"{"chunkId":9,"range":[5,8]}"#).unwrap(), ids);
        assert_eq!(read_ids(br#"{"globalIdChunk":{"chunkId":9,"range":[5,8]}}"#).unwrap(), ids);
        assert!(read_ids(br#"{"chunkId":9,"range":[8,8]}"#).is_err());
    }
}
