//! A client of the pool, and what must be true of its jobs.

use super::{Ledger, Phase, patient};
use crate::{Client, Database, Dice, Request, until};
use serde_json::{Value, json};
use std::{collections::BTreeMap, thread};

/// Hands in jobs, each under a key, again until it is answered; built-in workers can do them.
pub fn hand_in_jobs(client: &Client, ledger: &Ledger, mut dice: Dice) {
    while ledger.phase() == Phase::Loading {
        hand_in(client, ledger);
        thread::sleep(dice.millis(10, 80));
    }
}

/// Hands in one job, unless everything is over before somebody takes it.
pub fn hand_in(client: &Client, ledger: &Ledger) {
    let number = ledger.next_number();
    let body = json!({"payload": {"op": "sum", "values": [number, 1]}, "priority": 5});
    let key = format!("job-{number}");
    let request = Request::new("POST", "/jobs").header("Idempotency-Key", &key).json(&body);
    until("somebody takes a job", || {
        if ledger.phase() == Phase::Over {
            return Some(());
        }
        let answer = patient(client.try_send(request.clone())).ok()?;
        ledger.acked().jobs.push((answer.expect(201)["id"].as_u64().unwrap(), number));
        Some(())
    });
}

/// Holds the tables to the jobs that were acknowledged: each is there as it was handed in, and what ended ended well.
pub fn check(database: &Database, ledger: &Ledger) {
    let acked = ledger.acked().jobs.clone();
    let sql =
        "SELECT j.id, j.payload, e.status, a.output FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id
        LEFT JOIN pool_assignments a ON a.id = e.assignment_id";
    let rows = database.rows(sql).into_iter().map(|row| (row[0].parse().unwrap(), row));
    let rows: BTreeMap<u64, _> = rows.collect();
    for (id, number) in acked {
        let row = rows.get(&id).unwrap_or_else(|| panic!("the acknowledged job {id} is lost"));
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&row[1]), json!({"op": "sum", "values": [number, 1]}), "job {id}");
        if row[2] != "NULL" {
            assert_eq!(
                (row[2].as_str(), read(&row[3])),
                ("completed", json!({"sum": number + 1})),
                "job {id}"
            );
        }
    }
    let twice =
        "SELECT id / 64 FROM pool_assignments WHERE signature IS NOT NULL GROUP BY 1 HAVING count(*) > 1";
    assert_eq!(database.column(twice), Vec::<String>::new(), "jobs with two results");
}

/// Holds the tables to what was acknowledged, once nobody waits for an answer any more: there is nothing else.
pub fn check_all(database: &Database, ledger: &Ledger) {
    check(database, ledger);
    let jobs = database.count("SELECT count(*) FROM pool_jobs");
    assert_eq!(ledger.acked().jobs.len() as i64, jobs, "a repeat under the same key makes no second job");
}

/// Number of jobs that have not ended.
#[must_use]
pub fn open(database: &Database) -> i64 {
    database.count("SELECT count(*) FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id WHERE e.id IS NULL")
}
