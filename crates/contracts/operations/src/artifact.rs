//! Files of rows, as the rows' results name them (N21).

use muster_model::TaskRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// One file, as the result of its row tells of it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    /// The row that left it.
    pub task_device_id: String,
    /// The row's device.
    pub device_id: String,
    /// The attempt that left it.
    pub attempt: u16,
    /// What it shows.
    pub kind: String,
    /// Its `storage_path`.
    pub path: String,
    /// Where this server answers it; absent where the path is none of this server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its type, where its node told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Its length in bytes, where its node told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When its row ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
}

/// The file of a row, if its result names one. A result that came over the RPCs can be anything; if it does not name a file
/// as nodes do, the row has none.
#[must_use]
pub fn show_artifact(task: &TaskRecord, stored: impl Fn(&str) -> Option<String>) -> Option<Artifact> {
    let result: Value = serde_json::from_str(task.result.as_deref()?).ok()?;
    let artifact = result.get("artifact")?;
    let text = |key: &str| artifact.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = text("storage_path")?;
    // Not `public_url` itself: it may lead anywhere, and the dashboard sends a token to this URL.
    let own = stored(&path).map(|path| format!("/api/artifacts/{path}"));
    let is_public = |own: &str| text("public_url").is_some_and(|url| without_query(&url).ends_with(own));
    Some(Artifact {
        task_device_id: task.id.to_string(),
        device_id: task.lane.to_string(),
        attempt: task.attempt,
        kind: text("kind")?,
        url: own.filter(|own| is_public(own)),
        path,
        content_type: text("content_type"),
        size: artifact.get("size").and_then(Value::as_u64),
        at: task.completed_at.map(|at| at.0),
    })
}

/// A URL without the signature of a link.
fn without_query(url: &str) -> &str {
    url.split_once('?').map_or(url, |(url, _)| url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_device::tests::row;
    use serde_json::json;

    fn shown(result: &Value) -> Option<Artifact> {
        let result = Some(result.to_string().into());
        show_artifact(&TaskRecord { result, ..row() }, |path| (!path.contains("..")).then(|| path.to_owned()))
    }

    /// N21: the URL of a file leads to this server and carries no link's signature. Files elsewhere, and those of simulated
    /// devices, have no URL.
    #[test]
    fn a_result_names_a_file() {
        let told = json!({"kind": "screenshot", "storage_path": "a/b.png", "public_url": "http://here:7400/api/artifacts/a/b.png",
            "content_type": "image/png", "size": 7});
        let shown_one = shown(&json!({"artifact": told, "timings": {}})).unwrap();
        assert_eq!((&*shown_one.kind, &*shown_one.path), ("screenshot", "a/b.png"));
        assert_eq!(shown_one.url.as_deref(), Some("/api/artifacts/a/b.png"));
        assert_eq!((shown_one.content_type.as_deref(), shown_one.size), (Some("image/png"), Some(7)));
        let link = "http://here:7400/api/artifacts/a/b.png?expires=7&signature=00";
        let linked = json!({"kind": "screenshot", "storage_path": "a/b.png", "public_url": link});
        assert_eq!(
            shown(&json!({"artifact": linked})).unwrap().url.as_deref(),
            Some("/api/artifacts/a/b.png")
        );
        for (path, public_url) in [
            ("../x", "/api/artifacts/../x"),
            ("a/b.png", "http://elsewhere/a/b.png"),
            ("a/b.png", "http://elsewhere/?/api/artifacts/a/b.png"),
            ("a/b.png", "simulated:a/b.png"),
        ] {
            let away = json!({"kind": "log", "storage_path": path, "public_url": public_url});
            assert_eq!(shown(&json!({"artifact": away})).unwrap().url, None);
        }
    }

    /// N21, Q14: a result that tells of no file, or of one in words of its own, has none.
    #[test]
    fn other_results_have_no_file() {
        for result in
            [json!({}), json!(null), json!([1]), json!({"artifact": 7}), json!({"artifact": {"kind": "x"}})]
        {
            assert_eq!(shown(&result), None, "{result}");
        }
        assert_eq!(show_artifact(&TaskRecord { result: None, ..row() }, |_| None), None);
    }
}
