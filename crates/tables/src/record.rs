//! Records that are rows: each table is declared once, and all that concerns its columns follows.

use crate::{
    column::FromColumn,
    shape::{Put, TableShape},
    sql::{Cells, Fault, Fields, Row, Sink, Sql, Value},
};

/// A record that is written as a row. Implemented by [`table!`].
pub(crate) trait TableRecord {
    /// The table.
    const TABLE: TableShape;

    /// Statement that puts whole rows into the table.
    fn put() -> &'static Put;

    /// Gives the values of a row, in the order of the table's columns.
    fn fill(&self, row: &mut dyn Row) -> Result<(), Fault>;

    /// Checks that what is written is read back.
    #[cfg(feature = "conformance")]
    fn round_trip(store: &mut dyn crate::sql::Whole) -> Result<(), Fault>;
}

/// A record that is read from a row, too. Implemented by [`table!`].
pub(crate) trait Record: TableRecord + Sized {
    /// The table to select from, with its alias.
    const FROM: &'static str;

    /// The columns to select for [`Self::read`].
    const COLUMNS: &'static str;

    /// As [`Self::COLUMNS`], with stand-ins for what is large.
    const SHORT_COLUMNS: &'static str;

    /// As [`Self::COLUMNS`], with stand-ins for what another table has.
    #[cfg(feature = "conformance")]
    const OWN_COLUMNS: &'static str;

    /// Number of selected columns.
    const WIDTH: usize;

    /// Makes a record of the values of its columns.
    fn build(source: &mut impl Source) -> Result<Self, Fault>;

    /// Makes a record of a row.
    fn read(row: &dyn Cells) -> Result<Self, Fault> {
        Self::read_at(row, 0)
    }

    /// Makes a record of a row, from a column on.
    fn read_at(row: &dyn Cells, first: usize) -> Result<Self, Fault> {
        Self::build(&mut Scan { fields: Fields::from(Self::TABLE.name, row, first), next: 0 })
    }
}

/// Gives the values of a record's columns, in their order.
pub(crate) trait Source {
    /// The next value.
    fn next<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault>;

    /// The next value, which another table has.
    fn joined<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault> {
        self.next()
    }
}

struct Scan<'row> {
    fields: Fields<'row>,
    next: usize,
}

impl Source for Scan<'_> {
    fn next<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault> {
        self.next += 1;
        self.fields.value(self.next - 1)
    }
}

/// Declares the table of a record.
///
/// ```text
/// table! {
///     UserRecord in "users", key ["id"], put Named {
///         id: Number("id"),                            // field: storage("column")
///         name: Text("name") short "CAST('' AS TEXT)", // with what stands for it in SHORT_COLUMNS
///         size: Number("size") = name.len(),           // written from an expression, read for `derived`
///         _: Text("initial") = &name[..1],             // written, never read
///     }
///     row UserRecord { id, name, reason }              // where fields are nested, computed, or not columns
///     derived { reason = None }                        // fields that are read from other columns, or from none
///     joined body: Text("body") "CAST(NULL AS TEXT)"   // a field that queries join from another table
///     unwritten Text("config")                         // a column that no field fills; there may be several
///     numbered "id"                                    // or one that the database fills
/// }
/// ```
///
/// The order of the columns is that of backups: new ones come last. `write_only` before the record declares a table that
/// is not read.
macro_rules! table {
    (
        $record:ident in $table:literal $(as $alias:ident)?, key [$($key:literal),*], put $update:ident$(($($cases:tt)*))? {
            $($bind:tt: $storage:ident($column:literal) $(short $short:literal)? $(= $value:expr)?),* $(,)?
        }
        $(row $row:ident { $($fields:tt)* })?
        $(derived { $($derived:ident = $from:expr),* $(,)? })?
        $(joined $joined:ident: $joined_storage:ident($joined_column:literal) $stand_in:literal)?
        $(unwritten $unwritten_storage:ident($unwritten:literal))*
        $(numbered $numbered:literal)?
    ) => {
        $crate::record::table! { @written $record, $table, [$($key),*], $update$(($($cases)*))?,
            [$($bind $storage $column [$($value)?]),*]
            [$($row { $($fields)* })?] [$record $($bind)*]
            [$($unwritten_storage $unwritten)* $(Number $numbered)?] [$($numbered)?]
            [$crate::conformance::round_trip::<$record>] }

        $crate::record::table! { @read $record, $table, [$($alias)?],
            [$($bind $storage $column [$($short)?]),*]
            [$($row { $($fields)* })?] [$record $($bind)*] [$($($derived = $from),*)?]
            [$($joined $joined_storage $joined_column $stand_in)?] }
    };

    (
        write_only $record:ident in $table:literal, key [$($key:literal),*], put $update:ident {
            $($bind:tt: $storage:ident($column:literal) $(= $value:expr)?),* $(,)?
        }
        row $row:ident { $($fields:tt)* }
        numbered $numbered:literal
    ) => {
        $crate::record::table! { @written $record, $table, [$($key),*], $update, [$($bind $storage $column [$($value)?]),*]
            [$row { $($fields)* }] [$record] [Number $numbered] [$numbered] [|_: &mut dyn $crate::sql::Whole| Ok(())] }
    };

    (
        @written $record:ident, $table:literal, [$($key:literal),*], $update:ident$(($($cases:tt)*))?,
        [$($bind:tt $storage:ident $column:literal [$($value:expr)?]),*] $row:tt $binds:tt
        [$($rest_storage:ident $rest:literal)*] [$($numbered:literal)?] [$round_trip:expr]
    ) => {
        impl $crate::record::TableRecord for $record {
            const TABLE: $crate::shape::TableShape = $crate::shape::TableShape {
                name: $table,
                columns: &[
                    $($crate::shape::Column::of::<$crate::column::$storage>($column),)*
                    $($crate::shape::Column::of::<$crate::column::$rest_storage>($rest),)*
                ],
                key: &[$($key),*],
                numbered: $crate::record::table!(@is_there $($numbered)?),
            };

            fn put() -> &'static $crate::shape::Put {
                const FILLED: usize = [$($column),*].len();
                static PUT: $crate::shape::Put = <$record as $crate::record::TableRecord>::TABLE
                    .put_first(FILLED, $crate::shape::Update::$update$(($($cases)*))?);
                &PUT
            }

            #[allow(unused_variables, reason = "not every field is a column")]
            fn fill(&self, row: &mut dyn $crate::sql::Row) -> Result<(), $crate::sql::Fault> {
                let $crate::record::table!(@row $row $binds) = self;
                $($crate::record::table!(@fill row $bind $storage $($value)?);)*
                Ok(())
            }

            #[cfg(feature = "conformance")]
            fn round_trip(store: &mut dyn $crate::sql::Whole) -> Result<(), $crate::sql::Fault> {
                ($round_trip)(store)
            }
        }
    };

    (
        @read $record:ident, $table:literal, $alias:tt, [$($bind:tt $storage:ident $column:literal [$($short:literal)?]),*]
        $row:tt $binds:tt [$($derived:ident = $from:expr),*]
        [$($joined:ident $joined_storage:ident $joined_column:literal $stand_in:literal)?]
    ) => {
        impl $crate::record::Record for $record {
            const FROM: &'static str = $crate::record::table!(@from $table $alias);

            const COLUMNS: &'static str = $crate::record::list(concat!(
                $($crate::record::table!(@name $alias $bind $column)),* $(, ", ", $joined_column)?
            ));

            const SHORT_COLUMNS: &'static str = $crate::record::list(concat!(
                $($crate::record::table!(@short $alias $bind $column $($short)?)),*
                $(, ", ", $stand_in, " AS ", $joined_column)?
            ));

            #[cfg(feature = "conformance")]
            const OWN_COLUMNS: &'static str = $crate::record::list(concat!(
                $($crate::record::table!(@name $alias $bind $column)),*
                $(, ", ", $stand_in, " AS ", $joined_column)?
            ));

            const WIDTH: usize = 0 $(+ $crate::record::table!(@width $bind))* $(+ [$joined_column].len())?;

            fn build(source: &mut impl $crate::record::Source) -> Result<Self, $crate::sql::Fault> {
                $($crate::record::table!(@take source $bind $storage);)*
                $(let $joined = source.joined::<$crate::column::$joined_storage, _>()?;)?
                $(let $derived = $from;)*
                Ok($crate::record::table!(@row $row $binds))
            }
        }
    };

    (@row [$row:ident { $($fields:tt)* }] $binds:tt) => { $row { $($fields)* } };
    (@row [] [$record:ident $($bind:tt)*]) => { $crate::record::table!(@plain $record [] $($bind)*) };
    (@plain $record:ident [$($field:ident)*]) => { $record { $($field),* } };
    (@plain $record:ident [$($field:ident)*] _ $($bind:tt)*) => {
        $crate::record::table!(@plain $record [$($field)*] $($bind)*)
    };
    (@plain $record:ident [$($field:ident)*] $next:ident $($bind:tt)*) => {
        $crate::record::table!(@plain $record [$($field)* $next] $($bind)*)
    };

    (@from $table:literal []) => { $table };
    (@from $table:literal [$alias:ident]) => { concat!($table, " ", stringify!($alias)) };

    (@name $alias:tt _ $column:literal) => { "" };
    (@name [] $bind:ident $column:literal) => { concat!(", ", $column) };
    (@name [$alias:ident] $bind:ident $column:literal) => { concat!(", ", stringify!($alias), ".", $column) };

    (@short $alias:tt $bind:tt $column:literal) => { $crate::record::table!(@name $alias $bind $column) };
    (@short $alias:tt $bind:ident $column:literal $short:literal) => { concat!(", ", $short, " AS ", $column) };

    (@width _) => { 0 };
    (@width $bind:ident) => { 1 };

    (@take $source:ident _ $storage:ident) => {};
    (@take $source:ident $bind:ident $storage:ident) => {
        let $bind = $source.next::<$crate::column::$storage, _>()?;
    };

    (@fill $to:ident $bind:ident $storage:ident) => {
        $crate::column::ToColumn::<$crate::column::$storage>::put($bind, $to)?
    };
    (@fill $to:ident $bind:tt $storage:ident $value:expr) => {
        $crate::column::ToColumn::<$crate::column::$storage>::put(&$value, $to)?
    };

    (@is_there) => { false };
    (@is_there $there:literal) => { true };
}
pub(crate) use table;

/// A list of columns that has a separator before its first, without it.
pub(crate) const fn list(columns: &'static str) -> &'static str {
    columns.split_at(2).1
}

/// The records of a query; `rest` follows the table's name.
pub(crate) fn records<T: Record>(
    connection: &dyn Sql,
    rest: &str,
    params: &[Value<'_>],
) -> Result<Vec<T>, Fault> {
    rows(connection, &format!("SELECT {} FROM {} {rest}", T::COLUMNS, T::FROM), params, T::read)
}

/// The record of a query that gives at most one; `rest` follows the table's name.
pub(crate) fn record<T: Record>(
    connection: &dyn Sql,
    rest: &str,
    params: &[Value<'_>],
) -> Result<Option<T>, Fault> {
    Ok(records(connection, rest, params)?.pop())
}

/// The records of a query with the numbers that the database gave their rows; `rest` follows the table's name.
pub(crate) fn numbered_records<T: Record>(
    connection: &dyn Sql,
    rest: &str,
    params: &[Value<'_>],
) -> Result<Vec<(u64, T)>, Fault> {
    let TableShape { name, key, .. } = T::TABLE;
    let sql = format!("SELECT {}, {} FROM {} {rest}", T::COLUMNS, key[0], T::FROM);
    rows(connection, &sql, params, |row| Ok((Fields::new(name, row).number(T::WIDTH)?, T::read(row)?)))
}

/// All rows of a query that is known to be short.
pub(crate) fn rows<T>(
    connection: &dyn Sql,
    sql: &str,
    params: &[Value<'_>],
    read: impl Fn(&dyn Cells) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = Vec::new();
    connection.each(sql, params, &mut |row| {
        items.push(read(row)?);
        Ok(())
    })?;
    Ok(items)
}

/// The row of a query that gives at most one.
pub(crate) fn row<T>(
    connection: &dyn Sql,
    sql: &str,
    params: &[Value<'_>],
    read: impl Fn(&dyn Cells) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    Ok(rows(connection, sql, params, read)?.pop())
}

/// Writes a record.
pub(crate) fn write<T: TableRecord>(sink: &mut dyn Sink, record: &T) -> Result<(), Fault> {
    write_all(sink, &[record])
}

/// Writes records of different keys.
pub(crate) fn write_all<T: TableRecord>(sink: &mut dyn Sink, records: &[&T]) -> Result<(), Fault> {
    put(sink, T::put(), records)
}

/// Writes the last record of each key.
pub(crate) fn write_latest<'a, T: TableRecord, K: Ord>(
    sink: &mut dyn Sink,
    records: Vec<&'a T>,
    key: impl Fn(&'a T) -> K,
) -> Result<(), Fault> {
    write_all(sink, &latest(records, key))
}

/// Puts the columns of [`Put::columns`], the first ones of the table, of these records.
pub(crate) fn put<T: TableRecord>(
    sink: &mut dyn Sink,
    put: &'static Put,
    records: &[&T],
) -> Result<(), Fault> {
    let columns = put.columns.len();
    put_each(sink, put, records, |record, row| record.fill(&mut FirstColumns { row, left: columns }))
}

/// Puts a row for each item.
pub(crate) fn put_each<T>(
    sink: &mut dyn Sink,
    put: &'static Put,
    items: &[&T],
    fill: impl Fn(&T, &mut dyn Row) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if items.is_empty() {
        return Ok(());
    }
    sink.put(put, items.len(), &mut |n, row| fill(items[n], row))
}

/// Puts one row of the given values.
pub(crate) fn put_values(sink: &mut dyn Sink, put: &'static Put, values: &[Value<'_>]) -> Result<(), Fault> {
    sink.put(put, 1, &mut |_, row| {
        row.values(values);
        Ok(())
    })
}

/// Passes the first values of a row on.
struct FirstColumns<'a> {
    row: &'a mut dyn Row,
    left: usize,
}

impl Row for FirstColumns<'_> {
    fn value(&mut self, value: Value<'_>) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            self.row.value(value);
        }
    }
}

/// Keeps the last record of each key, in the order of the keys.
///
/// A row that is replaced within its own batch need not be written; rows in the order of their keys fall on
/// neighbouring pages.
pub(crate) fn latest<'a, T, K: Ord>(records: Vec<&'a T>, key: impl Fn(&'a T) -> K) -> Vec<&'a T> {
    split(records, key, |_| false).0
}

/// Keeps of each key the last record that replaces its row as a whole, and the last after it that keeps a part of the
/// row; in this order they are to be written.
pub(crate) fn split<'a, T, K: Ord>(
    mut records: Vec<&'a T>,
    key: impl Fn(&'a T) -> K,
    keeps: impl Fn(&T) -> bool,
) -> (Vec<&'a T>, Vec<&'a T>) {
    records.sort_by_key(|record| key(record));
    let (mut whole, mut keeping) = (Vec::with_capacity(records.len()), Vec::new());
    for record in records {
        let is_same = |last: &mut &'a T| key(*last) == key(record);
        keeping.pop_if(is_same);
        if keeps(record) {
            keeping.push(record);
        } else {
            whole.pop_if(is_same);
            whole.push(record);
        }
    }
    (whole, keeping)
}

#[cfg(test)]
mod tests {
    use super::{latest, split};

    #[test]
    fn the_last_of_each_key_stays() {
        let records = [(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        assert_eq!(latest(records.iter().collect(), |record| record.0), [&(1, 'd'), &(2, 'c')]);
    }

    #[test]
    fn what_keeps_a_part_is_written_after_the_whole_before_it() {
        let records = [(1, 'a'), (1, 'b'), (1, '+'), (1, '-'), (2, '+'), (2, 'c'), (3, '+')];
        let (whole, keeping) =
            split(records.iter().collect(), |record| record.0, |record| "+-".contains(record.1));
        assert_eq!(whole, [&(1, 'b'), &(2, 'c')]);
        assert_eq!(keeping, [&(1, '-'), &(3, '+')]);
    }
}
