//! Devices, the lives of workers, alerts.

use super::nothing;
use crate::{
    fault::Fault,
    id_text::HexText,
    record::{record, records},
    sql::Sql,
};
use muster_model::{AlertRecord, LaneRecord, Name, WorkerLogRecord};
use muster_store::{
    Cursor, LaneFilter, Page,
    position::{List, Start, alert_key, parse_alert_key, sought},
};

/// Devices, by name.
pub(crate) fn lanes(
    connection: &dyn Sql,
    filter: &LaneFilter,
    page: &Cursor,
) -> Result<Page<LaneRecord>, Fault> {
    let Some(after) = name_start(List::Lanes, page) else {
        return Ok(nothing());
    };
    let status = filter.status.map(|status| status.as_str());
    let worker = filter.worker.as_ref().map(Name::as_str);
    // The index knows the devices of a worker in the order of their names.
    let of_worker = if worker.is_some() { "pc_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
    let rest = format!(
        "WHERE id > ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) AND {of_worker} ORDER BY id LIMIT ?4"
    );
    let params = [after.as_str().into(), status.into(), worker.into(), sought(page).into()];
    let items = records(connection, &rest, &params)?;
    Ok(List::Lanes.page(page, items, |lane: &LaneRecord| lane.id.to_string()))
}

/// One device.
pub(crate) fn lane(connection: &dyn Sql, id: &Name) -> Result<Option<LaneRecord>, Fault> {
    record(connection, "WHERE id = ?1", &[id.as_str().into()])
}

/// A worker's life, newest first.
pub(crate) fn worker_log(connection: &dyn Sql, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, Fault> {
    let params = [id.as_str().into(), limit.into()];
    records(connection, "WHERE pc_id = ?1 ORDER BY id DESC LIMIT ?2", &params)
}

/// Alerts, newest first.
pub(crate) fn alerts(connection: &dyn Sql, page: &Cursor) -> Result<Page<AlertRecord>, Fault> {
    let (at, id) = match List::Alerts.start(page, parse_alert_key) {
        Start::Beginning => (i64::MAX, u128::MAX),
        Start::After(key) => key,
        Start::Nowhere => return Ok(nothing()),
    };
    let rest = "WHERE at <= ?1 AND (at < ?1 OR id < ?2) ORDER BY at DESC, id DESC LIMIT ?3";
    let id = HexText::new(id);
    let items = records(connection, rest, &[at.into(), id.as_str().into(), sought(page).into()])?;
    Ok(List::Alerts.page(page, items, |alert: &AlertRecord| alert_key(alert.at.0, alert.id)))
}

/// The name after which a page begins, the empty text being before all; `None`: nowhere.
pub(crate) fn name_start(names: List, page: &Cursor) -> Option<String> {
    match names.start(page, |text| Name::new(text).ok()) {
        Start::Beginning => Some(String::new()),
        Start::After(name) => Some(name.to_string()),
        Start::Nowhere => None,
    }
}
