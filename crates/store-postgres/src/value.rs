//! Values on their way to PostgreSQL and back.

use bytes::BytesMut;
use muster_tables::{Cells, Fault, Value};
use std::{borrow::Cow, cell::OnceCell, error::Error};
use tokio_postgres::{
    Row,
    types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked},
};

/// A parameter of a statement.
#[derive(Debug)]
pub(crate) struct Parameter<'a>(pub(crate) Value<'a>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, ty) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => out.extend_from_slice(&number.to_be_bytes()),
            (Value::Integer(number), &Type::INT4) => {
                out.extend_from_slice(&i32::try_from(number)?.to_be_bytes())
            }
            (Value::Text(text), &Type::TEXT) => out.extend_from_slice(stored(text).as_bytes()),
            (Value::Blob(bytes), &Type::BYTEA) => out.extend_from_slice(bytes),
            (value, ty) => return Err(format!("{value:?} where PostgreSQL expects {ty}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A parameter that outlives the call it came with.
#[derive(Debug)]
pub(crate) enum Argument {
    /// A column of many rows.
    Column(Column),
    Null,
    Integer(i64),
    Text(Box<str>),
    Blob(Box<[u8]>),
}

impl From<Value<'_>> for Argument {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Text(text) => Self::Text(text.into()),
            Value::Blob(bytes) => Self::Blob(bytes.into()),
        }
    }
}

impl ToSql for Argument {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Column(column) => column.to_sql(ty, out),
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => Parameter(Value::Integer(*number)).to_sql(ty, out),
            Self::Text(text) => Parameter(Value::Text(text)).to_sql(ty, out),
            Self::Blob(bytes) => Parameter(Value::Blob(bytes)).to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A row that was read.
pub(crate) struct PgCells<'a> {
    row: &'a Row,
    /// Texts that are stored in another form than they have.
    originals: OnceCell<Box<[OnceCell<Box<str>>]>>,
}

impl<'a> PgCells<'a> {
    pub(crate) fn new(row: &'a Row) -> Self {
        Self { row, originals: OnceCell::new() }
    }

    /// The original of a text that is stored in another form.
    fn keep(&self, column: usize, text: Box<str>) -> &str {
        let places = self.originals.get_or_init(|| (0..self.row.len()).map(|_| OnceCell::new()).collect());
        places[column].get_or_init(|| text)
    }
}

impl Cells for PgCells<'_> {
    fn cell(&self, column: usize) -> Result<Value<'_>, Fault> {
        let cell: Cell<'_> = self.row.try_get(column).map_err(|error| crate::fault::fault(&error))?;
        let Value::Text(text) = cell.0 else {
            return Ok(cell.0);
        };
        match original(text) {
            Some(std::borrow::Cow::Borrowed(text)) => Ok(Value::Text(text)),
            Some(std::borrow::Cow::Owned(text)) => Ok(Value::Text(self.keep(column, text.into()))),
            None => Err(Fault::corrupt(format!("{}: {text:?}", self.column_name(column)))),
        }
    }

    fn column_name(&self, column: usize) -> &str {
        self.row.columns().get(column).map_or("?", |column| column.name())
    }
}

/// Value of a column, as stored.
struct Cell<'a>(Value<'a>);

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let value = match *ty {
            Type::INT8 => Value::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::INT4 => Value::Integer(i32::from_be_bytes(raw.try_into()?).into()),
            Type::TEXT => Value::Text(std::str::from_utf8(raw)?),
            Type::BYTEA => Value::Blob(raw),
            _ => return Err(format!("a column of type {ty}").into()),
        };
        Ok(Self(value))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A text as it is stored.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().contains(&0) && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => stored.extend([MARK, '0']),
            MARK => stored.extend([MARK, '1']),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// A text that was stored; `None`: it stands for none.
pub(crate) fn original(stored: &str) -> Option<Cow<'_, str>> {
    if !stored.contains(MARK) {
        return Some(Cow::Borrowed(stored));
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            MARK => match characters.next()? {
                '0' => '\0',
                '1' => MARK,
                _ => return None,
            },
            other => other,
        });
    }
    Some(Cow::Owned(text))
}

/// An array in PostgreSQL's binary form, in the making.
#[derive(Debug, Default)]
pub(crate) struct Column {
    /// Each value: its length, then its bytes.
    values: Vec<u8>,
    count: i32,
    has_null: bool,
    /// Kind of all values that are present.
    of: Option<Of>,
    /// True if they are not all the same.
    is_mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Integers,
    Texts,
    Blobs,
}

impl Column {
    /// Adds the value of one row.
    pub(crate) fn push(&mut self, value: Value<'_>) {
        self.count += 1;
        match value {
            Value::Null => {
                self.has_null = true;
                self.values.extend_from_slice(&(-1_i32).to_be_bytes());
            }
            Value::Integer(number) => self.add(Of::Integers, &number.to_be_bytes()),
            Value::Text(text) => self.add(Of::Texts, stored(text).as_bytes()),
            Value::Blob(bytes) => self.add(Of::Blobs, bytes),
        }
    }

    /// Size of its values, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.values.len()
    }

    fn add(&mut self, of: Of, bytes: &[u8]) {
        self.is_mixed |= self.of.replace(of).is_some_and(|before| before != of);
        // A value too long for its length field is also too long for the message, which is then never sent.
        let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        self.values.extend_from_slice(&length.to_be_bytes());
        self.values.extend_from_slice(bytes);
    }
}

impl ToSql for Column {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(element) = ty.kind() else {
            return Err(format!("an array where PostgreSQL expects {ty}").into());
        };
        let fits = match self.of {
            None => true,
            Some(Of::Integers) => *element == Type::INT8,
            Some(Of::Texts) => *element == Type::TEXT,
            Some(Of::Blobs) => *element == Type::BYTEA,
        };
        if self.is_mixed || !fits {
            return Err(format!("{:?} where PostgreSQL expects {ty}", self.of).into());
        }
        let header = [1, i32::from(self.has_null), element.oid().cast_signed(), self.count, 1];
        for number in header {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&self.values);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}

/// For private use: no text in any language has it.
/// PostgreSQL's texts hold all of Unicode but NUL. NUL is written as U+F8FF and `0`, U+F8FF itself as U+F8FF and `1`.
/// Hardly any text has either.
const MARK: char = '\u{F8FF}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_holds_nul() {
        for text in
            ["", "plain", "\0", "\u{F8FF}", "\u{F8FF}0", "a\0\0b\u{F8FF}1", "\u{F8FE}\u{F900}", "ä€😀"]
        {
            let stored = stored(text);
            assert!(!stored.contains('\0'));
            assert_eq!(original(&stored).as_deref(), Some(text));
        }
    }

    #[test]
    fn plain_texts_are_stored_as_they_are() {
        assert!(matches!(stored("ä€😀"), Cow::Borrowed("ä€😀")));
    }

    #[test]
    fn what_nobody_stored_stands_for_nothing() {
        for stored in ["\u{F8FF}", "a\u{F8FF}2"] {
            assert_eq!(original(stored), None);
        }
    }

    fn column<'a>(values: impl IntoIterator<Item = Value<'a>>) -> Column {
        let mut column = Column::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }

    fn same(column: &Column, other: &impl ToSql, ty: &Type) -> bool {
        let (mut mine, mut theirs) = (BytesMut::new(), BytesMut::new());
        column.to_sql(ty, &mut mine).unwrap();
        other.to_sql(ty, &mut theirs).unwrap();
        mine == theirs
    }

    #[test]
    fn arrays_are_what_the_client_library_would_make() {
        let numbers = column([Value::Integer(1), Value::Null, Value::Integer(-7)]);
        assert!(same(&numbers, &vec![Some(1_i64), None, Some(-7)], &Type::INT8_ARRAY));
        let texts = column([Value::Text("ä"), Value::Text(""), Value::Text("\0")]);
        assert!(same(&texts, &vec!["ä", "", "\u{F8FF}0"], &Type::TEXT_ARRAY));
        let blobs = column([Value::Blob(&[0, 1]), Value::Null]);
        assert!(same(&blobs, &vec![Some(vec![0_u8, 1]), None], &Type::BYTEA_ARRAY));
        assert!(same(&column([Value::Null]), &vec![None::<&str>], &Type::TEXT_ARRAY));
    }

    #[test]
    fn what_is_no_array_of_the_column_is_refused() {
        let refused = |column: &Column, ty| column.to_sql(&ty, &mut BytesMut::new()).is_err();
        assert!(refused(&column([Value::Integer(1)]), Type::TEXT_ARRAY));
        assert!(refused(&column([Value::Integer(1), Value::Text("1")]), Type::INT8_ARRAY));
        assert!(refused(&column([Value::Integer(1)]), Type::INT8));
    }
}
