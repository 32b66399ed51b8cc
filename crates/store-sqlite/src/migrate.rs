//! Migrations: tables of an older version become those that this binary knows.

use crate::sql::Fault;
use muster_model::{Quality, Scale, Specs};
use muster_store::StoreError;
use muster_tables::specs_text;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde_json::Value;

/// Refuses a file that a newer version wrote, or somebody else. Changes nothing.
pub(crate) fn check(connection: &Connection) -> Result<(), Fault> {
    let (found, known) = (version(connection)?, SCHEMA_VERSION);
    if found > known {
        return Err(StoreError::TooNew { found, known }.into());
    }
    let objects: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found == 0 && objects > 0 && !can_be_adopted(connection)? {
        return Err(Fault::Foreign);
    }
    Ok(())
}

/// Applies what is missing, all of it or nothing.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let adopting = found < WORKERS_SINCE && set_aside(&transaction)?;
    if adopting && found == 0 {
        rename_others(&transaction)?;
    }
    for (version, sql) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    if adopting {
        take_over(&transaction)?;
    }
    fold(&transaction)?;
    transaction.commit()?;
    Ok(())
}

pub(crate) fn version(connection: &Connection) -> Result<u32, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// The columns of a table; none where there is no such table.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect::<Result<_, _>>().map_err(Fault::from)
}

/// True if a file that is none of ours holds such workers, and nothing but tables beside them.
fn can_be_adopted(connection: &Connection) -> Result<bool, Fault> {
    let others: u32 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index')",
        [],
        |row| row.get(0),
    )?;
    let is_table: bool = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'workers'",
        [],
        |row| row.get(0),
    )?;
    Ok(others == 0 && is_table && is_adoptable(&columns(connection, "workers")?))
}

/// Renames the other tables of an older coordinator, so that they are in nobody's way: nothing of them is lost.
fn rename_others(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema \
         WHERE type = 'table' AND name <> 'workers' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    )?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for name in names {
        let quoted = name.replace('"', "\"\"");
        connection.execute_batch(&format!("ALTER TABLE \"{quoted}\" RENAME TO \"old_{quoted}\""))?;
    }
    Ok(())
}

/// Puts such workers aside, if there are any, to make room for our table; answers whether there were.
fn set_aside(connection: &Connection) -> Result<bool, Fault> {
    if !is_adoptable(&columns(connection, "workers")?) {
        return Ok(false);
    }
    connection.execute_batch(&format!(
        "CREATE TEMP TABLE {ASIDE} AS SELECT * FROM main.workers; DROP TABLE main.workers"
    ))?;
    Ok(true)
}

/// Moves them into our table: what a column of the same name says where it makes sense, or else a default.
fn take_over(connection: &Connection) -> Result<(), Fault> {
    let there = columns(connection, ASIDE)?;
    check_moments(connection, ASIDE, &there)?;
    let copied: Vec<String> = COPIED.iter().map(|column| column.source(&there)).collect();
    let names: Vec<&str> = COPIED.iter().map(|column| column.name).collect();
    let id = if are_numbered(connection, &there)? { "id" } else { "row_number() OVER (ORDER BY name)" };
    let (seen, has_age) = (last_seen(&there), there.iter().any(|column| column == "created_at"));
    let created = if has_age { moment("created_at") } else { "NULL".to_owned() };
    connection.execute_batch(&format!(
        "INSERT INTO workers (id, name, {NEW}, created_at, {}) \
         SELECT {id}, name, {seen}, coalesce({created}, {seen}, 0), {} FROM {ASIDE}; \
         UPDATE meta SET value = (SELECT coalesce(max(id), 0) + 1 FROM workers) WHERE key = 'pool_next_worker'; \
         DROP TABLE {ASIDE}",
        names.join(", "),
        copied.join(", ")
    ))?;
    understand(connection)
}

fn is_adoptable(columns: &[String]) -> bool {
    let has = |name| columns.iter().any(|column| column == name);
    has("name") && (has(NEW) || has(OLD))
}

/// True if they have numbers such as ours.
fn are_numbered(connection: &Connection, columns: &[String]) -> Result<bool, Fault> {
    if !columns.iter().any(|column| column == "id") {
        return Ok(false);
    }
    let sql = format!(
        "SELECT count(*) = count(DISTINCT CASE WHEN typeof(id) = 'integer' AND id BETWEEN 1 AND 9007199254740991 \
         THEN id END) FROM {ASIDE}"
    );
    Ok(connection.query_row(&sql, [], |row| row.get(0))?)
}

/// Notes what their specs mean.
fn understand(connection: &Connection) -> Result<(), Fault> {
    let mut statement =
        connection.prepare("SELECT id, specs_json FROM workers WHERE specs_json IS NOT NULL")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    for row in rows.collect::<Result<Vec<_>, _>>()? {
        let (id, said) = row;
        let said = serde_json::from_str::<Value>(&said).unwrap_or_default();
        let slots = said.get("slots").and_then(Value::as_u64).and_then(|slots| u32::try_from(slots).ok());
        connection.execute(
            "UPDATE workers SET specs = ?2, slots = max(1, coalesce(?3, slots)) WHERE id = ?1",
            params![id, specs_text(&meaning(&said)), slots],
        )?;
    }
    Ok(())
}

fn meaning(said: &Value) -> Specs {
    let quality = |value: &Value| match value.as_f64() {
        Some(number) => Quality::Amount(Scale::new(number)),
        // Keys are sorted and no space is written: as canonical JSON has it.
        None => Quality::Exactly(value.to_string().into()),
    };
    let pairs = said.as_object().into_iter().flatten();
    Specs::new(pairs.map(|(name, value)| (name.as_str().into(), quality(value))).collect())
}

/// A column of ours that may have been one of theirs.
struct Copied {
    name: &'static str,
    /// SQL: what it says, or NULL where that makes no sense here.
    sense: &'static str,
    /// SQL: what it says otherwise.
    default: &'static str,
}

impl Copied {
    fn source(&self, columns: &[String]) -> String {
        let there = columns.iter().any(|column| column == self.name);
        if there { format!("coalesce({}, {})", self.sense, self.default) } else { self.default.to_owned() }
    }
}

const fn copied(name: &'static str, sense: &'static str, default: &'static str) -> Copied {
    Copied { name, sense, default }
}

/// Does away with the old column, if it is there.
fn fold(connection: &Connection) -> Result<(), Fault> {
    let there = columns(connection, "workers")?;
    if !there.iter().any(|column| column == OLD) {
        return Ok(());
    }
    check_moments(connection, "workers", &there)?;
    if !there.iter().any(|column| column == NEW) {
        connection.execute_batch(&format!("ALTER TABLE workers ADD COLUMN {NEW} INTEGER"))?;
    }
    connection.execute_batch(&format!("UPDATE workers SET {NEW} = {}", last_seen(&there)))?;
    drop_indexes(connection)?;
    connection.execute_batch(&format!("ALTER TABLE workers DROP COLUMN {OLD}"))?;
    Ok(())
}

/// An index would keep its column from going.
fn drop_indexes(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "SELECT DISTINCT l.name FROM pragma_index_list('workers') l JOIN pragma_index_info(l.name) i \
         WHERE i.name = ?1",
    )?;
    let names = statement.query_map([OLD], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names {
        connection.execute_batch(&format!("DROP INDEX \"{}\"", name.replace('"', "\"\"")))?;
    }
    Ok(())
}

/// Name of the column.
const NEW: &str = "last_seen_at";

/// Former name of the column.
const OLD: &str = "last_heartbeat_at";

/// SQL for a column's moment in milliseconds: a number is one, or seconds where it is small; a text is a number or
/// ISO 8601, in UTC unless it says.
fn moment(column: &str) -> String {
    // In milliseconds this is a day of 1973, in seconds one of 5138.
    let number = |value: &str| {
        format!("CAST(round(CASE WHEN abs({value}) < 1e11 THEN {value} * 1000 ELSE {value} END) AS INTEGER)")
    };
    let (number, text) = (number(column), number(&format!("CAST({column} AS REAL)")));
    format!(
        "CASE typeof({column}) WHEN 'integer' THEN {number} WHEN 'real' THEN {number} \
         WHEN 'text' THEN CASE WHEN {column} <> '' AND {column} NOT GLOB '*[^0-9.]*' AND {column} NOT GLOB '*.*.*' THEN {text} \
         WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' THEN CAST(round(unixepoch({column}, 'subsec') * 1000) AS INTEGER) \
         END END"
    )
}

/// SQL for when a worker was last seen: the column's new name counts before its old one.
fn last_seen(columns: &[String]) -> String {
    let there = [NEW, OLD].into_iter().filter(|name| columns.iter().any(|column| column == name));
    let moments: Vec<String> = there.map(moment).collect();
    format!("coalesce({}, NULL)", moments.join(", "))
}

/// Refuses moments that cannot be read: rather than lose one, nothing is changed.
fn check_moments(connection: &Connection, table: &str, columns: &[String]) -> Result<(), Fault> {
    for column in [NEW, OLD].into_iter().filter(|name| columns.iter().any(|column| column == name)) {
        let sql = format!(
            "SELECT format('workers %s: %s = %s', name, '{column}', {column}) FROM {table} \
             WHERE {column} IS NOT NULL AND {column} <> '' AND {} IS NULL LIMIT 1",
            moment(column)
        );
        let senseless: Option<String> = connection.query_row(&sql, [], |row| row.get(0)).optional()?;
        if let Some(what) = senseless {
            return Err(Fault::corrupt(format!("{what} is no moment; correct or clear it")));
        }
    }
    Ok(())
}

/// The version of the tables that this binary makes and knows.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// Version n is made by the nth.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_tables.sql"),
    include_str!("../migrations/0002_sessions.sql"),
    include_str!("../migrations/0003_pool.sql"),
    include_str!("../migrations/0004_schedules.sql"),
    concat!(include_str!("../migrations/0005_outcomes.sql"), include_str!("../migrations/0005_votes.sql")),
    include_str!("../migrations/0006_batches.sql"),
    include_str!("../migrations/0007_logs.sql"),
];

/// The version from which on table `workers` is ours.
const WORKERS_SINCE: u32 = 3;

const COPIED: &[Copied] = &[
    copied(
        "owner_user_id",
        "CASE WHEN typeof(owner_user_id) = 'integer' THEN max(owner_user_id, 0) END",
        "0",
    ),
    copied("status", "CASE WHEN lower(status) IN ('online', 'banned') THEN lower(status) END", "'offline'"),
    copied("region", "CAST(region AS TEXT)", "NULL"),
    copied(
        "specs_json",
        "CASE WHEN typeof(specs_json) = 'text' THEN \
         iif(json_valid(specs_json), iif(json_type(specs_json) = 'object', specs_json, NULL), NULL) END",
        "NULL",
    ),
    copied("public_key", "CAST(public_key AS TEXT)", "NULL"),
    copied("slots", "CASE WHEN typeof(slots) = 'integer' THEN min(max(slots, 1), 4294967295) END", "1"),
    copied("draining", "CASE WHEN typeof(draining) = 'integer' THEN draining <> 0 END", "0"),
    copied("ban_reason", "CAST(ban_reason AS TEXT)", "NULL"),
    copied("agreements", "NULL", "0"),
    copied("dissents", "NULL", "0"),
];

/// Temporary table for the old workers during the migration.
const ASIDE: &str = "workers_before";
