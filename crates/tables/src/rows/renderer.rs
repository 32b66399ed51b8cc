//! Table `sim_workers`.

use super::{lists, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Sink},
};
use muster_model::{Name, Removal, RendererRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, state, state_since, token_sha256, endpoint, slots, failures, registered_at, \
     last_heartbeat_at, losses, last_completed_at, removal, removed_from, description";

/// What [`read`] expects, but for the description.
pub(crate) const COLUMNS_WITHOUT_DESCRIPTION: &str = "id, state, state_since, token_sha256, endpoint, slots, failures, \
     registered_at, last_heartbeat_at, losses, last_completed_at, removal, removed_from, \
     CAST(NULL AS TEXT) AS description";

/// Writes a worker; leaves its description where the record has none.
pub(crate) fn write(sink: &mut dyn Sink, renderer: &RendererRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            renderer.id.as_str().into(),
            renderer.state.as_str().into(),
            renderer.state_since.into(),
            (&renderer.token_hash).into(),
            renderer.endpoint.as_deref().into(),
            renderer.slots.into(),
            lists::times_text(&renderer.failures).as_str().into(),
            renderer.registered_at.into(),
            renderer.last_heartbeat.into(),
            lists::times_text(&renderer.losses).as_str().into(),
            renderer.last_completed.into(),
            renderer.removal.map(Removal::as_str).into(),
            lists::sessions_text(&renderer.removed_from).as_str().into(),
            renderer.description.as_deref().into(),
        ],
    )
}

/// Deletes a worker.
pub(crate) fn delete(sink: &mut dyn Sink, id: &Name) -> Result<(), Fault> {
    put_one(sink, &GONE, &[id.as_str().into()])
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<RendererRecord, Fault> {
    let fields = Fields::new("sim_workers", row);
    Ok(RendererRecord {
        id: fields.name(0)?,
        state: fields.word(1, muster_model::RendererState::from_word)?,
        state_since: fields.time(2)?,
        token_hash: fields.bytes(3)?,
        endpoint: fields.maybe_text(4)?,
        slots: fields.number(5)?,
        failures: fields.word(6, lists::parse_times)?,
        registered_at: fields.time(7)?,
        last_heartbeat: fields.maybe_time(8)?,
        losses: fields.word(9, lists::parse_times)?,
        last_completed: fields.maybe_time(10)?,
        removal: fields.maybe_word(11, muster_model::Removal::from_word)?,
        removed_from: fields.word(12, lists::parse_sessions)?,
        description: fields.maybe_text(13)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_workers",
    columns: &[
        text("id"),
        text("state"),
        number("state_since"),
        bytes("token_sha256"),
        text("endpoint"),
        number("slots"),
        text("failures"),
        number("registered_at"),
        number("last_heartbeat_at"),
        text("losses"),
        number("last_completed_at"),
        text("removal"),
        text("removed_from"),
        text("description"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Set(
    "state = excluded.state, state_since = excluded.state_since, token_sha256 = excluded.token_sha256, \
     endpoint = excluded.endpoint, slots = excluded.slots, failures = excluded.failures, \
     registered_at = excluded.registered_at, last_heartbeat_at = excluded.last_heartbeat_at, \
     losses = excluded.losses, last_completed_at = excluded.last_completed_at, removal = excluded.removal, \
     removed_from = excluded.removed_from, \
     description = coalesce(excluded.description, sim_workers.description)",
));

static GONE: Put = TABLE.put_first(1, Update::Gone);
