//! Rows on their way into tables: each is bound straight into a statement that is prepared once.

use crate::sql::{Bound, Fault};
use muster_tables::{Fault as Said, Put, Row, Sink, Update, Value};
use rusqlite::{Connection, Statement};
use std::collections::HashMap;

/// The texts of statements, made when first needed.
#[derive(Default)]
pub(crate) struct Statements {
    /// By the address of what they are for: there is one of each, and it stays.
    texts: HashMap<usize, String>,
}

/// Writes by a connection within a transaction.
pub(crate) struct SqliteSink<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) statements: &'a mut Statements,
}

impl Statements {
    fn of(&mut self, put: &'static Put) -> &str {
        self.texts.entry(std::ptr::from_ref(put).addr()).or_insert_with(|| text(put))
    }
}

impl Sink for SqliteSink<'_> {
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Said>,
    ) -> Result<(), Said> {
        let text = self.statements.of(put);
        let mut statement = self.connection.prepare_cached(text).map_err(Fault::from)?;
        for n in 0..rows {
            let mut binding = Binding { statement: &mut statement, bound: 0, outcome: Ok(()) };
            fill(n, &mut binding)?;
            debug_assert_eq!(binding.bound, put.columns.len(), "values for {}", put.table);
            binding.outcome.map_err(Fault::from)?;
            statement.raw_execute().map_err(Fault::from)?;
        }
        Ok(())
    }
}

/// The row that is being bound.
struct Binding<'a, 'statement> {
    statement: &'a mut Statement<'statement>,
    bound: usize,
    /// The first error.
    outcome: rusqlite::Result<()>,
}

impl Row for Binding<'_, '_> {
    fn value(&mut self, value: Value<'_>) {
        self.bound += 1;
        if self.outcome.is_ok() {
            self.outcome = self.statement.raw_bind_parameter(self.bound, Bound(value));
        }
    }
}

/// The statement that puts one row.
fn text(put: &Put) -> String {
    let Put { table, columns, key, update } = put;
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let places: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let row = format!("{table} ({}) VALUES ({})", names.join(", "), places.join(", "));
    let conflict = format!("ON CONFLICT ({}) DO UPDATE SET", key.join(", "));
    match update {
        Update::Never => format!("INSERT INTO {row}"),
        // Into a table with nothing but its primary key it overwrites in place, without a search first.
        Update::Whole => format!("INSERT OR REPLACE INTO {row}"),
        Update::Named | Update::Except(_) => {
            format!("INSERT INTO {row} {conflict} {}", put.overwritten().join(", "))
        }
        Update::Raise => raise(table, &names, key),
        Update::Gone => format!("DELETE FROM {table} WHERE {}", equal(&names, |_| true).join(" AND ")),
    }
}

fn raise(table: &str, names: &[&str], key: &[&str]) -> String {
    let set = equal(names, |name| !key.contains(&name));
    let mut conditions = equal(names, |name| key.contains(&name));
    let smaller = |(name, n): (&&str, usize)| format!("({name} IS NULL OR {name} < ?{n})");
    conditions.extend(names.iter().zip(1..).filter(|(name, _)| !key.contains(name)).map(smaller));
    format!("UPDATE {table} SET {} WHERE {}", set.join(", "), conditions.join(" AND "))
}

/// `column = ?n` for some of the columns.
fn equal(names: &[&str], is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let meant = names.iter().zip(1..).filter(|(name, _)| is_meant(name));
    meant.map(|(name, n)| format!("{name} = ?{n}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_tables::{Column, Kind};

    const COLUMNS: &[Column] =
        &[Column { name: "id", kind: Kind::Text }, Column { name: "at", kind: Kind::Integer }];

    #[test]
    fn each_way_has_its_statement() {
        let statement = |update| text(&Put { table: "t", columns: COLUMNS, key: &["id"], update });
        assert_eq!(statement(Update::Never), "INSERT INTO t (id, at) VALUES (?1, ?2)");
        assert_eq!(statement(Update::Whole), "INSERT OR REPLACE INTO t (id, at) VALUES (?1, ?2)");
        let conflict = "INSERT INTO t (id, at) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET";
        assert_eq!(statement(Update::Named), format!("{conflict} at = excluded.at"));
        assert_eq!(statement(Update::Except(&[("at", Some("1"))])), format!("{conflict} at = 1"));
        let raise = "UPDATE t SET at = ?2 WHERE id = ?1 AND (at IS NULL OR at < ?2)";
        assert_eq!(statement(Update::Raise), raise);
        assert_eq!(statement(Update::Gone), "DELETE FROM t WHERE id = ?1 AND at = ?2");
    }
}
