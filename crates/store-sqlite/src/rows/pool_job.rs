//! Table `pool_jobs` (P13).

use super::{integer, latest, specs};
use crate::{fault::Fault, fields::Fields};
use muster_model::{Demand, Millis, PoolJobDraft, PoolJobId, PoolJobRecord, Specs, UserId};
use rusqlite::{Connection, Row, Statement};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "j.id, j.client_user_id, j.priority, j.max_attempts, j.asked_attempts, j.timeout_ms, \
     j.verify_output_hash, j.redundancy, j.created_at, j.region, j.demands, j.requires, j.payload";

/// What [`read`] expects, but with an empty payload.
pub(crate) const COLUMNS_WITHOUT_PAYLOAD: &str = "j.id, j.client_user_id, j.priority, j.max_attempts, j.asked_attempts, \
     j.timeout_ms, j.verify_output_hash, j.redundancy, j.created_at, j.region, j.demands, j.requires, '' AS payload";

/// How many columns [`read`] expects.
pub(crate) const WIDTH: usize = 13;

/// Adds jobs.
pub(crate) fn write(connection: &Connection, records: Vec<&PoolJobRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(REPLACE)?;
    for record in latest(records, |record| record.id) {
        bind(&mut statement, record)?;
        statement.raw_execute()?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<PoolJobRecord, Fault> {
    let fields = Fields::new("pool_jobs", row);
    let requires = if fields.is_null(10)? { Specs::default() } else { fields.word(10, specs::parse)? };
    let draft = PoolJobDraft {
        payload: fields.text(12)?.into(),
        priority: fields.number(2)?,
        demand: Demand { region: fields.maybe_text(9)?, requires },
        requires_json: fields.maybe_text(11)?,
        max_attempts: fields.maybe_number(4)?,
        timeout: fields.maybe_number(5)?.map(Millis),
        verify_output_hash: fields.flag(6)?,
        redundancy: fields.number(7)?,
    };
    Ok(PoolJobRecord {
        id: PoolJobId(fields.number(0)?),
        client: UserId(fields.number(1)?),
        max_attempts: fields.number(3)?,
        draft,
        created_at: fields.time(8)?,
    })
}

fn bind(statement: &mut Statement<'_>, record: &PoolJobRecord) -> Result<(), Fault> {
    let draft = &record.draft;
    statement.raw_bind_parameter(1, integer(record.id.0)?)?;
    statement.raw_bind_parameter(2, integer(record.client.0)?)?;
    statement.raw_bind_parameter(3, draft.priority)?;
    statement.raw_bind_parameter(4, record.max_attempts)?;
    statement.raw_bind_parameter(5, draft.max_attempts)?;
    statement.raw_bind_parameter(6, draft.timeout.map(|timeout| timeout.0))?;
    statement.raw_bind_parameter(7, draft.verify_output_hash)?;
    statement.raw_bind_parameter(8, draft.redundancy)?;
    statement.raw_bind_parameter(9, record.created_at.0)?;
    statement.raw_bind_parameter(10, draft.demand.region.as_deref())?;
    statement.raw_bind_parameter(11, specs::text(&draft.demand.requires))?;
    statement.raw_bind_parameter(12, draft.requires_json.as_deref())?;
    statement.raw_bind_parameter(13, &*draft.payload)?;
    Ok(())
}

const REPLACE: &str = "INSERT OR REPLACE INTO pool_jobs (id, client_user_id, priority, max_attempts, asked_attempts, \
     timeout_ms, verify_output_hash, redundancy, created_at, region, demands, requires, payload) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
