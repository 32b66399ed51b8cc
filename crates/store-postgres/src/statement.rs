//! Statements as PostgreSQL wants them, one by one and pipelined.

use crate::value::Argument;
use futures_util::TryStreamExt;
use muster_tables::{Column, Kind, LookupKind, Put, Update};
use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use tokio_postgres::{Client, Error, Row, Statement};

/// Writes `$1` for `?1`, but not within quotes.
pub(crate) fn dollars(sql: &str) -> String {
    let (mut text, mut quoted) = (String::with_capacity(sql.len()), false);
    for character in sql.chars() {
        quoted ^= character == '\'';
        text.push(if character == '?' && !quoted { '$' } else { character });
    }
    text
}

/// The statement that puts any number of rows, each column of them an array.
pub(crate) fn put(put: &Put) -> String {
    let Put { table, columns, key, update } = put;
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let (list, rows) = (names.join(", "), unnest(columns));
    let insert = format!("INSERT INTO {table} ({list}) SELECT * FROM {rows}");
    let conflict = format!("ON CONFLICT ({}) DO", key.join(", "));
    match update {
        Update::Never => insert,
        Update::Whole | Update::Named if put.others().next().is_none() => {
            format!("{insert} {conflict} NOTHING")
        }
        Update::Whole | Update::Named | Update::Except(_) => {
            format!("{insert} {conflict} UPDATE SET {}", put.overwritten().join(", "))
        }
        Update::Raise => {
            let set: Vec<String> = put.others().map(|name| format!("{name} = new.{name}")).collect();
            let smaller =
                put.others().map(|name| format!("({table}.{name} IS NULL OR {table}.{name} < new.{name})"));
            let same = names.iter().filter(|name| key.contains(name)).map(|name| same(table, name));
            let conditions: Vec<String> = same.chain(smaller).collect();
            let (set, conditions) = (set.join(", "), conditions.join(" AND "));
            format!("UPDATE {table} SET {set} FROM {rows} AS new ({list}) WHERE {conditions}")
        }
        Update::Gone => {
            let conditions: Vec<String> = names.iter().map(|name| same(table, name)).collect();
            format!("DELETE FROM {table} USING {rows} AS new ({list}) WHERE {}", conditions.join(" AND "))
        }
    }
}

/// The query for any number of keys of a kind, each column of them an array.
pub(crate) fn lookup(kind: &LookupKind) -> String {
    let mut conditions = vec![match kind.key {
        // An index can be asked for all elements of one array.
        [column] => format!("{} = ANY({})", column.name, array(column, 1)),
        columns => {
            let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
            format!("({}) IN (SELECT * FROM {})", names.join(", "), unnest(columns))
        }
    }];
    conditions.extend(kind.condition.map(str::to_owned));
    format!("SELECT {} FROM {} WHERE {}", kind.columns, kind.table, conditions.join(" AND "))
}

fn same(table: &str, name: &str) -> String {
    format!("{table}.{name} = new.{name}")
}

fn unnest(columns: &[Column]) -> String {
    let arrays: Vec<String> = columns.iter().zip(1..).map(|(column, n)| array(column, n)).collect();
    format!("UNNEST({})", arrays.join(", "))
}

fn array(column: &Column, n: usize) -> String {
    let of = match column.kind {
        Kind::Integer => "bigint",
        Kind::Text => "text",
        Kind::Blob => "bytea",
    };
    format!("CAST(${n} AS {of}[])")
}

/// A statement with all it needs.
pub(crate) struct PipelineStep {
    pub(crate) statement: Statement,
    pub(crate) parameters: Vec<Argument>,
}

/// Runs all steps. The first error is the cause: whatever follows it in a transaction fails because of it.
pub(crate) async fn run(client: &Client, steps: &[PipelineStep]) -> Result<(), Error> {
    rows_of(client, steps).await.map(|_| ())
}

/// Runs all steps; answers the rows that they answered.
pub(crate) async fn rows_of(client: &Client, steps: &[PipelineStep]) -> Result<Vec<Row>, Error> {
    let requests = steps.iter().map(|step| async move {
        client.query_raw(&step.statement, &step.parameters).await?.try_collect::<Vec<Row>>().await
    });
    let (mut pipeline, mut rows) = (Pipeline::new(requests), Vec::new());
    while let Some(some) = pipeline.next().await? {
        rows.extend(some);
    }
    Ok(rows)
}

/// Requests that are sent at once and answered one after the other.
pub(crate) struct Pipeline<F, T> {
    replies: VecDeque<Reply<F, T>>,
    is_sent: bool,
}

/// Result of a request.
enum Reply<F, T> {
    Expected(Pin<Box<F>>),
    There(Result<T, Error>),
}

impl<T, F: Future<Output = Result<T, Error>>> Pipeline<F, T> {
    pub(crate) fn new(requests: impl Iterator<Item = F>) -> Self {
        Self { replies: requests.map(|request| Reply::Expected(Box::pin(request))).collect(), is_sent: false }
    }

    /// The next answer, in the order of the requests; `None`: that was all.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, Error> {
        poll_fn(|context| {
            self.send(context);
            if let Some(reply) = self.replies.front_mut() {
                reply.look(context);
            }
            match self.replies.pop_front() {
                None => Poll::Ready(Ok(None)),
                Some(Reply::There(answer)) => Poll::Ready(answer.map(Some)),
                Some(expected) => {
                    self.replies.push_front(expected);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Sends everything. A request that cannot be sent keeps those after it from being sent, a COMMIT among them.
    fn send(&mut self, context: &mut Context<'_>) {
        if !std::mem::replace(&mut self.is_sent, true) {
            let refused = self.replies.iter_mut().position(|reply| reply.look(context));
            self.replies.truncate(refused.map_or(self.replies.len(), |place| place + 1));
        }
    }
}

impl<T, F: Future<Output = Result<T, Error>>> Reply<F, T> {
    /// Looks for the answer, which also sends what was not sent; answers whether it is an error.
    fn look(&mut self, context: &mut Context<'_>) -> bool {
        if let Self::Expected(request) = self
            && let Poll::Ready(answer) = request.as_mut().poll(context)
        {
            *self = Self::There(answer);
        }
        matches!(self, Self::There(Err(_)))
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
    fn each_way_has_its_statement() {
        const COLUMNS: &[Column] =
            &[Column { name: "id", kind: Kind::Text }, Column { name: "at", kind: Kind::Integer }];
        let statement = |update| put(&Put { table: "t", columns: COLUMNS, key: &["id"], update });
        let rows = "UNNEST(CAST($1 AS text[]), CAST($2 AS bigint[]))";
        let insert = format!("INSERT INTO t (id, at) SELECT * FROM {rows}");
        assert_eq!(statement(Update::Never), insert);
        let replace = format!("{insert} ON CONFLICT (id) DO UPDATE SET at = excluded.at");
        assert_eq!((statement(Update::Whole), statement(Update::Named)), (replace.clone(), replace));
        assert_eq!(
            statement(Update::Except(&[("at", Some("1"))])),
            format!("{insert} ON CONFLICT (id) DO UPDATE SET at = 1")
        );
        let raise = "WHERE t.id = new.id AND (t.at IS NULL OR t.at < new.at)";
        assert_eq!(
            statement(Update::Raise),
            format!("UPDATE t SET at = new.at FROM {rows} AS new (id, at) {raise}")
        );
        assert_eq!(
            statement(Update::Gone),
            format!("DELETE FROM t USING {rows} AS new (id, at) WHERE t.id = new.id AND t.at = new.at")
        );
        let all = Put { table: "t", columns: COLUMNS, key: &["id", "at"], update: Update::Whole };
        assert_eq!(put(&all), format!("{insert} ON CONFLICT (id, at) DO NOTHING"));
    }
}
