//! Shapes of tables, and the ways to put rows into them.

use crate::column::Storage;

/// A table that every SQL store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Its name.
    pub name: &'static str,
    /// Its columns, but for those that are computed from others.
    pub columns: &'static [Column],
    /// The columns of its primary key, in order.
    pub key: &'static [&'static str],
    /// True if the database numbers new rows by itself, in the one column of the key.
    pub numbered: bool,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Kind of value, unless it is null.
    pub kind: Kind,
}

/// Storage class of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 64 bits.
    Integer,
    /// Texts.
    Text,
    /// Bytes.
    Blob,
}

/// A way to put rows into a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Put {
    /// The table.
    pub table: &'static str,
    /// The columns of a row, in the order of its values.
    pub columns: &'static [Column],
    /// The columns of the table's primary key.
    pub key: &'static [&'static str],
    /// Effect on a row that is there.
    pub update: Update,
}

/// Effect on a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// It cannot be there: an `INSERT`.
    Never,
    /// All columns of the row are overwritten; those not named in [`Put::columns`] may be lost.
    Whole,
    /// The columns of [`Put::columns`] are overwritten, others stay.
    Named,
    /// As [`Self::Named`], but these columns are set to an expression in terms of `excluded.column` and `table.column`,
    /// or stay as they are.
    Except(&'static [(&'static str, Option<&'static str>)]),
    /// Its one column that is not of the key is overwritten where it is smaller or `NULL`; a row that is not there is
    /// not added.
    Raise,
    /// It is deleted; [`Put::columns`] are all or the first of the key's, and all rows that begin so go.
    Gone,
}

impl TableShape {
    /// Puts the first so many columns of rows.
    pub(crate) const fn put_first(&self, columns: usize, update: Update) -> Put {
        Put { table: self.name, columns: self.columns.split_at(columns).0, key: self.key, update }
    }
}

impl Column {
    /// A column of what `S` stores.
    pub(crate) const fn of<S: Storage>(name: &'static str) -> Self {
        Self { name, kind: S::KIND }
    }
}

impl Put {
    /// The columns that are not of the key.
    pub fn others(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().map(|column| column.name).filter(|name| !self.key.contains(name))
    }

    /// `column = …` for each column that is overwritten in a row that is there.
    #[must_use]
    pub fn overwritten(&self) -> Vec<String> {
        let exceptions = if let Update::Except(exceptions) = self.update { exceptions } else { &[] };
        let value = |name| match exceptions.iter().find(|(column, _)| *column == name) {
            Some((_, value)) => value.map(str::to_owned),
            None => Some(format!("excluded.{name}")),
        };
        self.others().filter_map(|name| Some(format!("{name} = {}", value(name)?))).collect()
    }
}

/// The version of what the tables look like; a store numbers its own schema, which may have more than these.
pub const TABLES_VERSION: u32 = 7;
