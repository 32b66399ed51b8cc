//! Checks an announced upload against its task, and makes the path of the file (N21).

use muster_artifacts::{StoragePath, Template};
use muster_contract_nodes::{ArtifactOrder, PLACEHOLDERS};
use muster_http::Problem;
use muster_model::{TaskRecord, TaskStatus, Timestamp};
use serde_json::Value;

/// Refuses whoever does not hold the attempt it speaks of (N6, N6b).
pub(super) fn check_lease(order: &ArtifactOrder, task: &TaskRecord) -> Result<(), Problem> {
    if order.worker != task.worker {
        return Err(Problem::conflict(format!("the task is held by {}, not by node_id", task.worker)));
    }
    if task.status != TaskStatus::Running {
        return Err(Problem::conflict(format!("the task is not running; it is {}", task.status.as_str())));
    }
    if order.attempt != task.attempt || order.fence != task.fence {
        let live = task.attempt;
        return Err(Problem::conflict(format!(
            "attempt and lease_token are not those of the live attempt, {live}"
        )));
    }
    Ok(())
}

/// The path of an artifact: the same for every repeat of the same request while the attempt lives.
pub(super) fn storage_path(
    order: &ArtifactOrder,
    template: Option<Template>,
    task: &TaskRecord,
    params: &str,
) -> Result<StoragePath, Problem> {
    let template = template.unwrap_or_else(|| default_template(order));
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

/// Parses the template that a node gave, if it gave one.
pub(super) fn read_template(order: &ArtifactOrder) -> Result<Option<Template>, Problem> {
    let Some(text) = &order.template else {
        return Ok(None);
    };
    let template = Template::parse(text).and_then(|template| {
        // Whatever the values are, an unknown placeholder is a mistake of the template.
        template.fill(|name| PLACEHOLDERS.contains(&name).then(String::new))?;
        Ok(template)
    });
    template.map(Some).map_err(|error| Problem::unprocessable("storage_path", &error.to_string()))
}

#[cfg(test)]
mod tests;
