//! Files of rows, as the rows' results name them (N21).

use crate::wire::Artifact;
use muster_artifacts::StoragePath;
use muster_model::TaskRecord;
use serde_json::Value;

/// The file of a row, if its result names one. A result that came over the RPCs can be anything; if it does not name a file
/// as nodes do, the row has none.
pub(crate) fn show_artifact(task: &TaskRecord) -> Option<Artifact> {
    let result: Value = serde_json::from_str(task.result.as_deref()?).ok()?;
    let artifact = result.get("artifact")?;
    let text = |key: &str| artifact.get(key).and_then(Value::as_str).map(str::to_owned);
    let path = text("storage_path")?;
    // Not `public_url` itself: it may lead anywhere, and the dashboard sends a token to this URL.
    let own = StoragePath::parse(&path).ok().map(|path| format!("/api/artifacts/{path}"));
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
    use crate::translate::task_device::tests::row;
    use serde_json::json;

    fn shown(result: &Value) -> Option<Artifact> {
        let result = Some(result.to_string().into());
        show_artifact(&TaskRecord { result, ..row() })
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
        assert_eq!(show_artifact(&TaskRecord { result: None, ..row() }), None);
    }
}
