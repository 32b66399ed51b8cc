use super::write_batch;
use crate::{Fault, Put, Row, Sink, Update, Value};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Change, Fence, JobId, JobOutcome, JobRecord, JobStatus,
    LeaseKind, LogKind, LogRecord, Name, PoolChange, PoolJobId, PoolWorkerId, Scope, ShareCounts,
    ShareRecord, TaskId, TaskRecord, TaskStatus, Timestamp, UserId,
};
use muster_store::Batch;

/// The puts, as text: the table, the kind of put, and each row.
#[derive(Default)]
struct Recorded(Vec<(String, Vec<Vec<String>>)>);

impl Recorded {
    fn of(batch: &Batch) -> Self {
        let mut recorded = Self::default();
        write_batch(batch, 5, &mut recorded).unwrap();
        recorded
    }

    /// The given columns of all rows that were put into a table that way, call by call.
    fn columns<const N: usize>(&self, how: &str, columns: [usize; N]) -> Vec<Vec<[String; N]>> {
        let calls = self.0.iter().filter(|(put, _)| put == how);
        let cells = |row: &Vec<String>| columns.map(|column| row[column].clone());
        calls.map(|(_, rows)| rows.iter().map(cells).collect()).collect()
    }
}

impl Sink for Recorded {
    fn put(
        &mut self,
        put: &'static Put,
        rows: usize,
        fill: &mut dyn FnMut(usize, &mut dyn Row) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut all = Vec::new();
        for n in 0..rows {
            let mut row = Cells(Vec::new());
            fill(n, &mut row)?;
            assert_eq!(row.0.len(), put.columns.len(), "{}", put.table);
            all.push(row.0);
        }
        let how = match put.update {
            Update::Gone => "-",
            Update::Raise => "^",
            _ => "+",
        };
        self.0.push((format!("{how}{}", put.table), all));
        Ok(())
    }
}

struct Cells(Vec<String>);

impl Row for Cells {
    fn value(&mut self, value: Value<'_>) {
        self.0.push(match value {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text.to_owned(),
            Value::Blob(bytes) => format!("{bytes:?}"),
        });
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn job() -> JobId {
    JobId::new(Timestamp(0), 7)
}

fn share(worker: &str, completed: u32) -> Change {
    Change::Share(ShareRecord {
        worker: name(worker),
        job: job(),
        first: TaskId { job: job(), ordinal: 1 },
        finished: false,
        counts: ShareCounts { completed, ..ShareCounts::default() },
    })
}

fn stop(worker: &str, gone: bool) -> Change {
    Change::Stop { worker: name(worker), task: TaskId::NIL, gone }
}

fn written(changes: impl IntoIterator<Item = Change>) -> Recorded {
    Recorded::of(&Batch { changes: changes.into_iter().collect(), ..Batch::default() })
}

#[test]
fn of_each_share_the_last_change_counts() {
    let gone = |worker| Change::ShareGone { worker: name(worker), job: job() };
    let put = written([share("b", 1), gone("b"), share("a", 1), share("a", 2), gone("c"), share("c", 3)]);
    assert_eq!(put.columns("+pc_runs", [0, 4]), [[["a", "2"], ["c", "3"]]]);
    assert_eq!(put.columns("-pc_runs", [0]), [[["b"]]]);
}

#[test]
fn of_each_stop_the_last_change_counts() {
    let put = written([stop("a", false), stop("b", true), stop("a", true), stop("b", false)]);
    assert_eq!(put.columns("+pc_stops", [0]), [[["b"]]]);
    assert_eq!(put.columns("-pc_stops", [0]), [[["a"]]]);
}

fn task(ordinal: u32, attempt: u16) -> Change {
    Change::Task(Box::new(TaskRecord {
        id: TaskId { job: job(), ordinal },
        worker: name("a"),
        lane: name("d"),
        status: TaskStatus::Running,
        attempt,
        max_attempts: 3,
        error: None,
        result: None,
        fence: Fence(1),
        lease: LeaseKind::Presence,
        lease_until: None,
        created_at: Timestamp(1),
        started_at: None,
        confirmed_at: None,
        timeout_at: None,
        completed_at: None,
        timed_out: false,
        logs: 0,
    }))
}

fn log(ordinal: u32, seq: u32, attempt: u16) -> Change {
    let (task, kind, at) = (TaskId { job: job(), ordinal }, LogKind::Sent, Timestamp(1));
    Change::Log(LogRecord { task, seq, attempt, kind, message: None, at })
}

/// Q12: a task that changes several times in a batch is one row, with all lines of its log in their order.
#[test]
fn the_lines_of_a_task_go_into_its_row() {
    let put =
        written([task(2, 1), log(1, 2, 1), task(1, 1), log(3, 7, 1), log(1, 1, 1), task(3, 1), task(1, 2)]);
    let rows = put.columns("+task_devices", [5, 20]);
    let logs = [r#"["SENT",1,1,1],["SENT",2,1,1],"#, "", r#"["SENT",7,1,1],"#];
    assert_eq!(rows, [[["2", logs[0]], ["1", logs[1]], ["1", logs[2]]]]);
}

/// Q12
#[test]
fn a_line_that_is_written_twice_is_written_once() {
    let put = written([log(1, 1, 1), task(1, 1), log(1, 1, 2)]);
    assert_eq!(put.columns("+task_devices", [20]), [[[r#"["SENT",1,2,1],"#]]]);
}

/// Q12: a line without its task is refused: the batch is broken.
#[test]
fn a_line_without_its_task_is_refused() {
    for changes in
        [vec![log(1, 1, 1)], vec![log(1, 1, 1), task(2, 1)], vec![task(2, 1), log(2, 1, 1), log(3, 4, 1)]]
    {
        let batch = Batch { changes, ..Batch::default() };
        let refused = write_batch(&batch, 5, &mut Recorded::default()).unwrap_err().to_string();
        assert!(refused.contains("came without its task"), "{refused}");
    }
}

/// P8
#[test]
fn a_result_is_written_before_what_keeps_it() {
    let assignment = |state, worker| {
        Change::Pool(PoolChange::Assignment(Box::new(AssignmentRecord {
            id: AssignmentId::new(PoolJobId(1), 1),
            worker: PoolWorkerId(worker),
            owner: UserId(1),
            fence: Fence(1),
            state,
            granted_at: Timestamp(1),
            timeout_at: None,
            ended_at: None,
            digest: None,
            output_hash: None,
            vote: None,
            result: None,
        })))
    };
    let put = written([
        assignment(AssignmentState::Completed, 1),
        assignment(AssignmentState::Started, 2),
        assignment(AssignmentState::Completed, 3),
        assignment(AssignmentState::Completed, 4),
    ]);
    assert_eq!(put.columns("+pool_assignments", [1, 4]), [[["2", "STARTED"]], [["4", "COMPLETED"]]]);
    let widths: Vec<usize> = put.0.iter().map(|(_, rows)| rows[0].len()).collect();
    assert_eq!(widths, [19, 11]);
}

#[test]
fn ages_and_signs_of_life_are_only_raised() {
    let record = JobRecord {
        id: job(),
        seq: 3,
        queue: name("default"),
        status: JobStatus::Running,
        outcome: JobOutcome::Open,
        scope: Scope::All,
        max_attempts: 1,
        tasks: 0,
        open: true,
        created_at: Timestamp(1),
        started_at: None,
        completed_at: None,
        error: None,
        payload: None,
    };
    let put = Recorded::of(&Batch {
        changes: vec![Change::Job(Box::new(record))],
        sightings: vec![(name("a"), Timestamp(9)), (name("b"), Timestamp(1)), (name("a"), Timestamp(5))],
        pool_sightings: vec![(PoolWorkerId(2), Timestamp(4)), (PoolWorkerId(2), Timestamp(6))],
        ..Batch::default()
    });
    assert_eq!(put.columns("^meta", [0, 1]), [[["job_seq", "3"]]]);
    assert_eq!(put.columns("^pcs", [0, 1]), [[["a", "9"], ["b", "1"]]]);
    assert_eq!(put.columns("^workers", [0, 1]), [[["2", "6"]]]);
}
