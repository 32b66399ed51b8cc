//! Devices (Q15).

use muster_model::{Labels, LaneRecord, Name};
use muster_problem::{Fields, Problem, WireMutant, planted};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};
use utoipa::ToSchema;

/// One device.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Device {
    /// The immutable serial.
    pub device_id: String,
    /// The PC it is attached to.
    pub pc_id: String,
    /// `ONLINE`, `OFFLINE` or `ERROR`.
    pub status: Cow<'static, str>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whatever reaches it now.
    pub runtime_handle: String,
    /// What its PC last said: `online`, `offline`, `unauthorized`, `error`, or `absent` where it was not listed.
    pub attachment: Cow<'static, str>,
    /// Since when it is not usable, epoch milliseconds.
    pub offline_since: Option<i64>,
    /// What was said when it was last returned to service.
    pub note: Option<String>,
    /// When it was first seen, epoch milliseconds.
    pub created_at: i64,
}

/// Reads the body of `PATCH /api/devices/{id}`.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_labels(body: &Value) -> Result<Labels, Problem> {
    let fields = Fields::of(body)?;
    fields.only(&["labels"])?;
    labels(&fields.fields("labels")?, LABELS_MAX)
}

/// Reads the body of `POST /api/devices/{id}/return`, which may be empty.
///
/// # Errors
/// 422 naming the field that is missing or wrong.
pub fn read_note(body: Option<&Value>) -> Result<Option<Box<str>>, Problem> {
    let Some(body) = body.filter(|body| !body.is_null()) else {
        return Ok(None);
    };
    let fields = Fields::of(body)?;
    fields.only(&["note"])?;
    Ok(fields.opt_text("note", NOTE_CHARS_MAX)?.map(Into::into))
}

/// Reads an object of names, with names as keys.
pub(crate) fn labels(fields: &Fields<'_>, entries_max: usize) -> Result<Labels, Problem> {
    if fields.object().len() > entries_max {
        let path = fields.path_of("");
        return Err(Problem::unprocessable(
            path.trim_end_matches('.'),
            &format!("must have at most {entries_max} entries"),
        ));
    }
    let label = |key: &String| {
        let name =
            Name::new(key).map_err(|error| fields.refuse(key, &format!("is no label: a key {error}")))?;
        Ok((name, fields.name(key)?))
    };
    fields.object().keys().map(label).collect()
}

/// A device as outsiders see it.
#[must_use]
pub fn show_device(lane: LaneRecord) -> Device {
    let labels = lane.labels.iter().filter(|_| !planted(WireMutant::DeviceLabelsLeftOut));
    Device {
        device_id: lane.id.to_string(),
        pc_id: lane.worker.to_string(),
        status: lane.status.as_str().into(),
        labels: labels.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        runtime_handle: lane.handle.to_string(),
        attachment: lane.attachment.as_str().into(),
        offline_since: lane.offline_since.map(|at| at.0),
        note: lane.note.map(Into::into),
        created_at: lane.created_at.0,
    }
}

const LABELS_MAX: usize = 64;
const NOTE_CHARS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use muster_model::{Attachment, LaneStatus, Timestamp};
    use serde_json::{Map, json};

    /// Q15: labels are replaced as a whole; an empty object removes them all.
    #[test]
    fn labels_are_names_of_names() {
        assert!(read_labels(&json!({"labels": {}})).unwrap().is_empty());
        let labels = read_labels(&json!({"labels": {"rack": "7", "os": "14"}})).unwrap();
        assert_eq!(labels.len(), 2);
        for (bad, field) in [
            (json!({}), "labels"),
            (json!({"labels": null}), "labels"),
            (json!({"labels": []}), "labels"),
            (json!({"labels": {"a": 1}}), "labels.a"),
            (json!({"labels": {"a": null}}), "labels.a"),
            (json!({"labels": {"a": ""}}), "labels.a"),
            (json!({"labels": {"a/b": "x"}}), "labels.a/b"),
            (json!({"labels": {}, "label": {}}), "label"),
        ] {
            let problem = read_labels(&bad).unwrap_err();
            assert_eq!((problem.status().as_u16(), problem.field()), (422, Some(field)), "{bad}");
        }
        let many: Map<_, _> = (0..65).map(|n| (format!("k{n}"), json!("v"))).collect();
        assert_eq!(read_labels(&json!({"labels": many})).unwrap_err().field(), Some("labels"));
    }

    /// Q11: a device returns to service with a note or without.
    #[test]
    fn a_note_is_optional() {
        assert_eq!(read_note(None).unwrap(), None);
        assert_eq!(read_note(Some(&Value::Null)).unwrap(), None);
        assert_eq!(read_note(Some(&json!({}))).unwrap(), None);
        assert_eq!(read_note(Some(&json!({"note": "new cable"}))).unwrap().as_deref(), Some("new cable"));
        for bad in [json!({"note": 1}), json!({"note": "x".repeat(1001)}), json!({"reason": "x"}), json!([])]
        {
            assert_eq!(read_note(Some(&bad)).unwrap_err().status(), 422);
        }
    }

    /// Q15: the contract's words for a device.
    #[test]
    fn a_device_is_shown() {
        let name = |text| Name::new(text).unwrap();
        let lane = LaneRecord {
            id: name("d1"),
            worker: name("PC-01"),
            handle: name("h1"),
            attachment: Attachment::Unauthorized,
            status: LaneStatus::Offline,
            failed: false,
            labels: [(name("rack"), name("7"))].into(),
            offline_since: Some(Timestamp(3)),
            note: None,
            created_at: Timestamp(1),
        };
        let expected = json!({"device_id": "d1", "pc_id": "PC-01", "status": "OFFLINE", "labels": {"rack": "7"},
            "runtime_handle": "h1", "attachment": "unauthorized", "offline_since": 3, "note": null, "created_at": 1});
        golden::check(&show_device(lane), &expected);
    }
}
