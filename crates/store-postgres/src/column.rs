//! The values of one column of many rows, as the array that PostgreSQL reads.

use crate::value::stored;
use bytes::BytesMut;
use muster_tables::Value;
use std::error::Error;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

/// An array in PostgreSQL's binary form, in the making.
#[derive(Debug, Default)]
pub(crate) struct Column {
    /// Each value: its length, then its bytes.
    values: Vec<u8>,
    count: i32,
    has_null: bool,
    /// What all values are that are there.
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
        // What is too long for its length is too long for the message as well, which is never sent then.
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

#[cfg(test)]
mod tests {
    use super::*;

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
