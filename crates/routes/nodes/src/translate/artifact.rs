//! A node's request for an address to upload to, and the path that it gets (N21).

use muster_artifacts::{ContentHash, StoragePath, Template};
use muster_http::{Fields, Problem};
use muster_model::{Fence, Name, TaskId, TaskRecord, TaskStatus, Timestamp};
use serde_json::Value;

/// What a node wants to upload.
#[derive(Clone, Debug)]
pub(crate) struct ArtifactOrder {
    pub(crate) worker: Name,
    pub(crate) task: TaskId,
    attempt: i64,
    fence: Fence,
    kind: Name,
    name: Option<Name>,
    template: Option<Template>,
    /// In lower case, without parameters.
    pub(crate) content_type: String,
    pub(crate) size: u64,
    pub(crate) sha256: Option<ContentHash>,
}

/// What may be uploaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed<'a> {
    pub(crate) types: &'a [String],
    pub(crate) size_max: u64,
}

/// Reads the body of `POST /api/nodes/artifacts`.
pub(crate) fn read_artifact(body: &Value, allowed: Allowed<'_>) -> Result<ArtifactOrder, Problem> {
    let fields = Fields::of(body)?;
    let size_max = i64::try_from(allowed.size_max).unwrap_or(i64::MAX);
    Ok(ArtifactOrder {
        worker: fields.name("node_id")?,
        // A text that is no id of ours names a task that does not exist: 404, not 422 (N6).
        task: fields.text("task_id", TEXT_CHARS_MAX)?.parse().unwrap_or(TaskId::NIL),
        attempt: fields.integer_in("attempt", 1..=i64::from(u16::MAX))?,
        fence: fields.text("lease_token", TEXT_CHARS_MAX)?.parse().unwrap_or(Fence(0)),
        kind: fields.name("kind")?,
        content_type: content_type(&fields, allowed.types)?,
        size: fields.integer_in("size", 0..=size_max)?.unsigned_abs(),
        sha256: sha256(&fields)?,
        name: fields.opt_name("name")?,
        template: template(&fields)?,
    })
}

/// Refuses whoever does not hold the attempt it speaks of (N6, N6b).
pub(crate) fn check_lease(order: &ArtifactOrder, task: &TaskRecord) -> Result<(), Problem> {
    if order.worker != task.worker {
        return Err(Problem::conflict(format!("the task is held by {}, not by node_id", task.worker)));
    }
    if task.status != TaskStatus::Running {
        return Err(Problem::conflict(format!("the task is not running; it is {}", task.status.as_str())));
    }
    if order.attempt != i64::from(task.attempt) || order.fence != task.fence {
        let live = task.attempt;
        return Err(Problem::conflict(format!(
            "attempt and lease_token are not those of the live attempt, {live}"
        )));
    }
    Ok(())
}

/// The path of an artifact: the same for every repeat of the same request while the attempt lives.
pub(crate) fn storage_path(
    order: &ArtifactOrder,
    task: &TaskRecord,
    params: &str,
) -> Result<StoragePath, Problem> {
    let template = order.template.clone().unwrap_or_else(|| default_template(order));
    let filled = template.fill(|placeholder| value(placeholder, order, task, params));
    filled.map_err(|error| Problem::unprocessable("storage_path", &error.to_string()))
}

/// The contract's path; what is no screenshot, or one of several, has that in its name as well.
fn default_template(order: &ArtifactOrder) -> Template {
    let mut file = "{timestamp}".to_owned();
    if order.kind.as_str() != "screenshot" {
        file.push_str("-{kind}");
    }
    if order.name.is_some() {
        file.push_str("-{name}");
    }
    let text = format!("videos/{{youtubeVideoId}}/{{node_id}}/{{device_id}}/{{run_id}}/{file}.{{ext}}");
    Template::parse(&text).expect("made of plain characters and placeholders")
}

fn value(placeholder: &str, order: &ArtifactOrder, task: &TaskRecord, params: &str) -> Option<String> {
    Some(match placeholder {
        "youtubeVideoId" => youtube_video_id(params),
        "node_id" => task.worker.to_string(),
        "device_id" => task.lane.to_string(),
        "run_id" => task.id.job.to_string(),
        // When the attempt was granted, not when it is asked: a repeat after a lost answer or a restart must give
        // the same path, or the upload could not go on.
        "timestamp" => task.started_at.unwrap_or(Timestamp(0)).0.to_string(),
        "task_id" => task.id.to_string(),
        "attempt" => task.attempt.to_string(),
        "kind" => order.kind.to_string(),
        "name" => order.name.as_ref().map_or_else(|| "_".to_owned(), ToString::to_string),
        "ext" => extension(&order.content_type).to_owned(),
        _ => return None,
    })
}

fn youtube_video_id(params: &str) -> String {
    let params: Value = serde_json::from_str(params).unwrap_or_default();
    match params.get("youtubeVideoId") {
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => "_".to_owned(),
    }
}

fn extension(content_type: &str) -> &str {
    match content_type {
        "image/jpeg" => "jpg",
        "text/plain" => "txt",
        "application/octet-stream" => "bin",
        other => {
            let kind = other.rsplit('/').next().unwrap_or_default();
            let is_short =
                (1..=8).contains(&kind.len()) && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if is_short { kind } else { "bin" }
        }
    }
}

fn content_type(fields: &Fields<'_>, types: &[String]) -> Result<String, Problem> {
    let given = essence(fields.text("content_type", TEXT_CHARS_MAX)?);
    if types.contains(&given) {
        return Ok(given);
    }
    Err(fields.refuse("content_type", &format!("must be one of {}", types.join(", "))))
}

/// A media type in lower case and without its parameters.
pub(crate) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn sha256(fields: &Fields<'_>) -> Result<Option<ContentHash>, Problem> {
    let Some(text) = fields.opt_text("sha256", TEXT_CHARS_MAX)? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| fields.refuse("sha256", "must be 64 hexadecimal digits"))
}

fn template(fields: &Fields<'_>) -> Result<Option<Template>, Problem> {
    let Some(text) = fields.opt_text("storage_path", TEMPLATE_CHARS_MAX)? else {
        return Ok(None);
    };
    let template = Template::parse(text).and_then(|template| {
        // Whatever the values are, an unknown placeholder is a mistake of the template.
        template.fill(|name| PLACEHOLDERS.contains(&name).then(String::new))?;
        Ok(template)
    });
    template.map(Some).map_err(|error| fields.refuse("storage_path", &error.to_string()))
}

const TEXT_CHARS_MAX: usize = 4096;
const TEMPLATE_CHARS_MAX: usize = 512;
const PLACEHOLDERS: [&str; 10] = [
    "youtubeVideoId",
    "node_id",
    "device_id",
    "run_id",
    "timestamp",
    "task_id",
    "attempt",
    "kind",
    "name",
    "ext",
];

#[cfg(test)]
#[path = "artifact_tests.rs"]
mod tests;
