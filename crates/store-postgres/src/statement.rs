//! Statements as PostgreSQL wants them.

use muster_tables::{Put, Update};
use std::fmt::Write as _;

/// Writes `$1` for `?1`, but not within quotes.
pub(crate) fn dollars(sql: &str) -> String {
    let (mut text, mut quoted) = (String::with_capacity(sql.len()), false);
    for character in sql.chars() {
        quoted ^= character == '\'';
        text.push(if character == '?' && !quoted { '$' } else { character });
    }
    text
}

/// The statement that puts any number of rows into a table, each column of them an array; `types` are the columns'.
pub(crate) fn put(put: &Put, types: &[&str]) -> String {
    let mut sql = format!("INSERT INTO {} ({}) SELECT * FROM UNNEST(", put.table, put.columns.join(", "));
    for (number, of) in types.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(sql, "{comma}CAST(${} AS {of}[])", number + 1).expect("a string takes every text");
    }
    sql.push(')');
    if put.update != Update::Never {
        sql.push_str(&on_conflict(put));
    }
    sql
}

fn on_conflict(put: &Put) -> String {
    let key = put.key.join(", ");
    let others = put.columns.iter().filter(|column| !put.key.contains(column));
    let set: Vec<String> = others.map(|column| format!("{column} = EXCLUDED.{column}")).collect();
    if set.is_empty() {
        format!(" ON CONFLICT ({key}) DO NOTHING")
    } else {
        format!(" ON CONFLICT ({key}) DO UPDATE SET {}", set.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_dollars_and_texts_stay() {
        assert_eq!(
            dollars("SELECT '?1', a FROM t WHERE b = ?1 AND c = '?' AND d > ?12"),
            "SELECT '?1', a FROM t WHERE b = $1 AND c = '?' AND d > $12"
        );
    }

    #[test]
    fn rows_are_added_or_replaced() {
        let mut rows = Put { table: "t", columns: &["a", "b"], key: &["a"], update: Update::Whole };
        let insert = "INSERT INTO t (a, b) SELECT * FROM UNNEST(CAST($1 AS bigint[]), CAST($2 AS text[]))";
        let types = ["bigint", "text"];
        assert_eq!(put(&rows, &types), format!("{insert} ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b"));
        rows.update = Update::Never;
        assert_eq!(put(&rows, &types), insert);
        (rows.update, rows.key) = (Update::Named, &["a", "b"]);
        assert_eq!(put(&rows, &types), format!("{insert} ON CONFLICT (a, b) DO NOTHING"));
    }
}
