//! Workers and their devices: tables `pcs`, `devices`, `pc_secrets`, `pc_logs` and `alerts`.

use crate::{
    record::{TableRecord as _, latest, put_each, put_values, table, write_all},
    shape::{Put, Update},
    sql::{Fault, Sink},
};
use muster_model::{AlertRecord, LaneRecord, Name, SecretRecord, Timestamp, WorkerLogRecord, WorkerRecord};

table! {
    WorkerRecord in "pcs", key ["id"], put Whole {
        id: Text("id"),
        last_seen: Number("last_seen_at"),
        _: Text("pc_number") = id,
        status: Text("status"),
        status_since: Number("status_since"),
        cap: Number("max_devices"),
        draining: Number("draining"),
        paused_until: Number("paused_until"),
        lease_until: Number("lease_until"),
        created_at: Number("created_at"),
        heartbeat_late_since: Number("heartbeat_late_since"),
    }
}

table! {
    LaneRecord in "devices", key ["id"], put Named {
        id: Text("id"),
        worker: Text("pc_id"),
        status: Text("status"),
        handle: Text("runtime_handle"),
        attachment: Text("attachment"),
        failed: Number("failed"),
        labels: Text("labels"),
        offline_since: Number("offline_since"),
        note: Text("note"),
        created_at: Number("created_at"),
    }
}

/// A secret of a worker, at its place among them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) worker: Name,
    place: u64,
    pub(crate) secret: SecretRecord,
}

table! {
    Secret in "pc_secrets", key ["pc_id", "place"], put Never {
        worker: Text("pc_id"),
        place: Number("place"),
        hash: Bytes("sha256"),
        valid_until: Number("valid_until"),
    }
    row Secret { worker, place, secret: SecretRecord { hash, valid_until } }
}

table! {
    WorkerLogRecord in "pc_logs", key ["id"], put Never {
        worker: Text("pc_id"),
        kind: Text("event_type"),
        at: Number("at"),
    }
    numbered "id"
}

table! {
    AlertRecord in "alerts", key ["id"], put Whole {
        id: Text("id"),
        kind: Text("kind"),
        worker: Text("pc_id"),
        job: Text("task_id"),
        message: Text("message"),
        at: Number("at"),
    }
}

/// Writes signs of life down, where they are news.
pub(crate) fn write_sightings(sink: &mut dyn Sink, sightings: &[(Name, Timestamp)]) -> Result<(), Fault> {
    static SEEN: Put = WorkerRecord::TABLE.put_first(2, Update::Raise);
    let mut last: Vec<_> = sightings.iter().collect();
    last.sort_by_key(|(_, at)| *at);
    put_each(sink, &SEEN, &latest(last, |(worker, _)| worker), |(worker, at), row| {
        row.values(&[worker.as_str().into(), (*at).into()]);
        Ok(())
    })
}

/// Replaces all secrets of a worker.
pub(crate) fn write_secrets(
    sink: &mut dyn Sink,
    worker: &Name,
    secrets: &[SecretRecord],
) -> Result<(), Fault> {
    /// All of a worker.
    static GONE: Put = Secret::TABLE.put_first(1, Update::Gone);
    put_values(sink, &GONE, &[worker.as_str().into()])?;
    let placed = |(place, secret): (u64, &SecretRecord)| Secret {
        worker: worker.clone(),
        place,
        secret: secret.clone(),
    };
    let secrets: Vec<Secret> = (0..).zip(secrets).map(placed).collect();
    write_all(sink, &secrets.iter().collect::<Vec<_>>())
}
