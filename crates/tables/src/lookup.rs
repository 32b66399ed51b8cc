//! Point reads of what memory has forgotten.
//!
//! A store that answers key by key calls [`facts`]. Where a round trip costs, it goes through [`plan`] instead and asks
//! for all keys of a kind at once.

mod kinds;

use crate::{fault::Fault, shape::Column, sql::Cells, sql::Sql, value::Value};
use muster_model::{Fact, Facts, Key};

/// Hands over what the key columns must hold.
type Values = fn(&Key, &mut dyn FnMut(&[Value<'_>]) -> Result<(), Fault>) -> Result<(), Fault>;

/// Makes a key and its fact of a row, if it is one.
type Read = fn(&dyn Cells) -> Result<Option<(Key, Fact)>, Fault>;

/// How the facts of one kind of key are found: in the row whose key columns hold what the key says.
pub struct LookupKind {
    /// What to read from, with the alias that [`Self::columns`] may use.
    pub table: &'static str,
    /// What to select, for [`Self::read`].
    pub columns: &'static str,
    /// The columns that tell the row.
    pub key: &'static [Column],
    /// What must hold besides, in SQL.
    pub condition: Option<&'static str>,
    values: Values,
    read: Read,
}

/// Keys of one kind.
pub struct LookupPlan<'a> {
    /// How they are found.
    pub kind: &'static LookupKind,
    /// Which.
    pub keys: Vec<&'a Key>,
}

/// Sorts keys by kind.
#[must_use]
pub fn plan(keys: &[Key]) -> Vec<LookupPlan<'_>> {
    let mut plans: Vec<LookupPlan<'_>> = Vec::new();
    for key in keys {
        let kind = kinds::of(key);
        match plans.iter_mut().find(|plan| std::ptr::eq(plan.kind, kind)) {
            Some(plan) => plan.keys.push(key),
            None => plans.push(LookupPlan { kind, keys: vec![key] }),
        }
    }
    plans
}

/// Finds the facts that exist for these keys, one query for each.
///
/// # Errors
/// When the database fails, or a row makes no sense.
pub fn facts(connection: &dyn Sql, keys: &[Key]) -> Result<Facts, Fault> {
    let mut facts = Facts::default();
    for plan in plan(keys) {
        let sql = plan.kind.by_key();
        for key in plan.keys {
            plan.kind.values(key, &mut |values| {
                connection.each(&sql, values, &mut |row| plan.kind.read(row, &mut facts))
            })?;
        }
    }
    Ok(facts)
}

impl LookupKind {
    /// Hands over what [`Self::key`]'s columns must hold, in their order; not at all where no column can hold it.
    ///
    /// # Errors
    /// When `take` fails.
    pub fn values(
        &self,
        key: &Key,
        take: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        (self.values)(key, take)
    }

    /// Adds the fact of a row, if it is one.
    ///
    /// # Errors
    /// When the row makes no sense.
    pub fn read(&self, row: &dyn Cells, facts: &mut Facts) -> Result<(), Fault> {
        if let Some((key, fact)) = (self.read)(row)? {
            facts.insert(key, fact);
        }
        Ok(())
    }

    /// The query for one key, whose values are its parameters.
    fn by_key(&self) -> String {
        let columns = self.key.iter().zip(1..).map(|(column, n)| format!("{} = ?{n}", column.name));
        let conditions: Vec<String> = columns.chain(self.condition.map(str::to_owned)).collect();
        format!("SELECT {} FROM {} WHERE {}", self.columns, self.table, conditions.join(" AND "))
    }
}
