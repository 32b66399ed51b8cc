//! Contract P in the demo: workers of owners who need not trust each other, and the jobs of a client.
//!
//! In each round one worker is killed at a job. Then there are jobs that are voted on. In the first round the honest
//! owners keep their workers from these until the liar has submitted enough lies to be found out: a majority that is
//! complete without it would not notice.

mod job;
mod member;

pub(super) use member::BUILT_IN;

use super::{
    process::cancelled,
    server::{Server, Tables},
    show::{Contract, Finding, LIAR_BANNED, MEMBER_KILLED, Show},
};
use crate::{
    client::{Client, Order},
    failure::Failure,
    reach::Reason,
};
use job::{Job, JobPlan};
use member::{LIAR, MEMBERS, Member, Person, VICTIM};
use muster_contract_pool::{BatchAnswer, BatchItem, BatchRequest};
use muster_proof::Receipt;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

/// The workers, their owners and the jobs.
pub(super) struct Pool {
    members: Vec<Member>,
    owners: Vec<Person>,
    /// The client whose jobs they are.
    customer: Person,
    tables: Tables,
    jobs: Vec<Job>,
    act: Act,
    rounds: usize,
    kills: Vec<Kill>,
    /// The public keys of the workers by id, from their own files.
    keys: BTreeMap<u64, String>,
    /// Results that are left in the workers' spools.
    undelivered: usize,
    /// Assignments whose results the server refused for good.
    refused: Vec<u64>,
    unsuccessful: Vec<String>,
}

/// The parts of a round, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Each job is done by one worker.
    Alone,
    /// The liar votes; the others are held back.
    Lies,
    /// All workers vote.
    Votes,
    Over,
}

/// A worker that was killed.
struct Kill {
    round: usize,
    /// The assignments that it had begun and not submitted.
    held: Vec<u64>,
}

impl Pool {
    /// Creates the users, starts the workers and waits until the server knows them.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let owner = |name| Person::create(name, "WORKER_OWNER", server);
        let (anna, bert, mallory, customer) = tokio::try_join!(
            owner("anna"),
            owner("bert"),
            owner("mallory"),
            Person::create("carla", "CLIENT", server)
        )?;
        let owners = vec![anna, bert, mallory];
        let mut members = Vec::new();
        for plan in &MEMBERS {
            members.push(Member::start(plan, owner_of(&owners, plan.owner)?, server).await?);
        }
        for member in &mut members {
            member.until_known(owner_of(&owners, member.plan.owner)?).await?;
        }
        Ok(Self {
            members,
            owners,
            customer,
            tables: Tables::open(server.directory())?,
            jobs: Vec::new(),
            act: Act::Over,
            rounds: 0,
            kills: Vec::new(),
            keys: BTreeMap::new(),
            undelivered: 0,
            refused: Vec::new(),
            unsuccessful: Vec::new(),
        })
    }

    pub(super) async fn begin_round(&mut self) -> Result<(), Failure> {
        self.rounds += 1;
        self.act = Act::Alone;
        self.submit(JobPlan::alone()).await
    }

    pub(super) fn is_done(&self) -> bool {
        self.act == Act::Over && self.members.iter().all(|member| !member.process.is_down())
    }

    /// Watches the jobs and takes the next planned step; cancels the open jobs when asked to stop.
    pub(super) async fn step(&mut self, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        for member in &mut self.members {
            if member.process.tend().await? {
                member.until_known(owner_of(&self.owners, member.plan.owner)?).await?;
            }
        }
        if self.act == Act::Over {
            return Ok(());
        }
        let ended = self.tables.rows("SELECT id, status FROM pool_ends", [], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, String>(1)?))
        })?;
        let ended: BTreeMap<u64, String> = ended.into_iter().collect();
        for job in &mut self.jobs {
            job.ended = ended.get(&job.id).cloned();
        }
        let is_idle = self.jobs.iter().all(|job| job.ended.is_some());
        match is_stopping {
            false => self.go_on(is_idle, show).await,
            true if is_idle => self.end_round().await,
            true => self.cancel().await,
        }
    }

    pub(super) fn line(&self) -> String {
        let ended = |status| self.jobs.iter().filter(|job| job.ended.as_deref() == Some(status)).count();
        let (completed, failed, all) = (ended("completed"), ended("failed"), self.jobs.len());
        format!("pool {completed}/{all} jobs done, {failed} failed as planned")
    }

    /// Stops the workers and reads what they leave.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        for member in &mut self.members {
            self.unsuccessful.extend(member.process.stop().await?);
            self.undelivered += member.spooled()?.len();
            self.refused.extend(member.refused()?);
            self.keys.insert(member.id, member.public_key()?);
        }
        Ok(())
    }

    pub(super) fn submitted(&self) -> impl Iterator<Item = (String, String)> {
        self.jobs.iter().map(|job| ("job".to_owned(), job.id.to_string()))
    }

    pub(super) fn contract(&self, tables: &Tables) -> Result<Contract, Failure> {
        let receipts = self.jobs.iter().filter(|job| job.receipt.is_some()).count();
        let banned = tables.count("SELECT count(*) FROM workers WHERE status = 'banned'", [])?;
        Ok(Contract {
            name: "pool",
            did: format!("{} jobs, {receipts} receipts", self.jobs.len()),
            faults: format!("workers killed: {}, liars found and banned: {banned}", self.kills.len()),
        })
    }

    /// Compares the tables with the plan, and the receipts with the workers' own keys.
    pub(super) fn findings(&self, tables: &Tables) -> Result<Vec<Finding>, Failure> {
        let open = "SELECT (SELECT count(*) FROM pool_jobs) - (SELECT count(*) FROM pool_ends)";
        let nonces = "SELECT count(*) - count(DISTINCT nonce) FROM pool_assignments";
        Ok(vec![
            self.jobs_as_planned(tables)?,
            Finding::none(tables.count(open, [])?, "every job of the pool has ended"),
            // P8
            Finding::none(tables.count(nonces, [])?, "every assignment has a nonce of its own"),
            // P5, P8, P15
            Finding::none(tables.count(LEASE_LOST, [])?, "every result is signed, and no lease ran out"),
            Finding::none(tables.count(OWNER_TWICE, [])?, "no job has two results of one owner"),
            self.liar_banned(tables)?,
            Finding::of(self.receipts_verify(tables)?),
            Finding::of(self.kills_made_good(tables)?),
            Finding::of(self.workers_stopped(tables)?),
        ])
    }

    async fn go_on(&mut self, is_idle: bool, show: &Show) -> Result<(), Failure> {
        match self.act {
            Act::Alone if self.is_killed() && is_idle => self.begin_votes().await,
            // Too fast for the demo: submit another job that the worker can be killed at.
            Act::Alone if is_idle => self.submit(JobPlan::bait()).await,
            Act::Alone => self.kill_if_due(show).await,
            Act::Lies => self.end_lies_if_due().await,
            Act::Votes if is_idle => {
                if self.rounds == 1 {
                    show.tell(&LIAR_BANNED);
                }
                self.end_round().await
            }
            Act::Votes | Act::Over => Ok(()),
        }
    }

    /// Lets the liar lie first, unless it was banned in an earlier round.
    async fn begin_votes(&mut self) -> Result<(), Failure> {
        let is_first = self.rounds == 1;
        if is_first {
            self.tell_honest_workers("drain").await?;
        }
        self.submit(JobPlan::votes()).await?;
        self.act = if is_first { Act::Lies } else { Act::Votes };
        Ok(())
    }

    async fn end_lies_if_due(&mut self) -> Result<(), Failure> {
        let lies = "SELECT count(*) FROM pool_assignments a JOIN workers w ON w.id = a.worker_id
            WHERE w.name = ?1 AND a.state = 'COMPLETED'";
        if self.tables.count(lies, [LIAR])? >= LIES_UNTIL_BANNED {
            self.tell_honest_workers("resume").await?;
            self.act = Act::Votes;
        }
        Ok(())
    }

    /// Drains or resumes the workers of the honest owners (P14).
    async fn tell_honest_workers(&self, verb: &str) -> Result<(), Failure> {
        for member in self.members.iter().filter(|member| member.plan.name != LIAR) {
            let owner = owner_of(&self.owners, member.plan.owner)?;
            owner.client.post::<Value>(&["workers", &member.id.to_string(), verb], &json!({})).await?;
        }
        Ok(())
    }

    fn is_killed(&self) -> bool {
        self.kills.iter().any(|kill| kill.round == self.rounds)
    }

    /// Kills the victim as soon as it has begun a job.
    async fn kill_if_due(&mut self, show: &Show) -> Result<(), Failure> {
        let is_killed = self.is_killed();
        let victim = self.members.iter_mut().find(|member| member.plan.name == VICTIM);
        let Some(victim) = victim.filter(|victim| !is_killed && !victim.process.is_down()) else {
            return Ok(());
        };
        let begun = |tables: &Tables| tables.column::<i64>(BEGUN, [VICTIM]);
        if begun(&self.tables)?.is_empty() {
            return Ok(());
        }
        victim.kill(owner_of(&self.owners, victim.plan.owner)?).await?;
        let held: Vec<u64> = begun(&self.tables)?.into_iter().map(i64::unsigned_abs).collect();
        if !held.is_empty() {
            self.kills.push(Kill { round: self.rounds, held });
            show.tell(&MEMBER_KILLED);
        }
        Ok(())
    }

    /// Submits jobs, all or none. The key makes a repeat harmless, should the response be lost (P18).
    async fn submit(&mut self, plans: Vec<JobPlan>) -> Result<(), Failure> {
        let key = format!("demo-jobs-{}", self.jobs.len());
        let batch = BatchRequest { jobs: plans.iter().map(|plan| plan.submission()).collect() };
        let answer: BatchAnswer =
            self.customer.client.order(&["jobs", "batch"], &batch, Order::with(Some(&key))).await?;
        let job =
            |(plan, BatchItem { id, .. })| Job { plan, id, ended: None, is_cancelled: false, receipt: None };
        self.jobs.extend(plans.into_iter().zip(answer.jobs).map(job));
        Ok(())
    }

    /// Fetches the receipts of the round (P17).
    async fn end_round(&mut self) -> Result<(), Failure> {
        self.act = Act::Over;
        for job in self.jobs.iter_mut().filter(|job| job.ended.as_deref() == Some("completed")) {
            if job.receipt.is_none() {
                job.receipt = Some(receipt(&self.customer.client, job.id).await?);
            }
        }
        Ok(())
    }

    /// Cancels every open job, unless it ended just before.
    async fn cancel(&mut self) -> Result<(), Failure> {
        for job in self.jobs.iter_mut().filter(|job| job.ended.is_none()) {
            let id = job.id.to_string();
            let reason = Reason::default();
            job.is_cancelled |= cancelled(self.customer.client.delete(&["jobs", &id], &reason)).await?;
        }
        Ok(())
    }

    /// P8, P13, P18: each job ended as planned, after as many attempts, with the right result.
    fn jobs_as_planned(&self, tables: &Tables) -> Result<Finding, Failure> {
        for job in &self.jobs {
            let row = tables.rows(JOB, [job.id.cast_signed()], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, i64>(2)?))
            })?;
            let Some((status, hash, attempts)) = row.into_iter().next() else {
                return Ok(Finding::of(Err(format!("job {} has not ended", job.id))));
            };
            if let Err(wrong) = job.check(&status, hash.as_deref(), attempts.unsigned_abs()) {
                return Ok(Finding::of(Err(wrong)));
            }
        }
        let count = |ending: &str| self.jobs.iter().filter(|job| job.ending() == ending).count();
        Ok(Finding::of(Ok(format!(
            "{} jobs of the pool: {} completed with the right result, {} failed as planned, {} cancelled on request",
            self.jobs.len(),
            count("completed"),
            count("failed"),
            count("cancelled")
        ))))
    }

    /// P15: the worker that disagreed with the majority too often was banned; no other worker disagreed.
    fn liar_banned(&self, tables: &Tables) -> Result<Finding, Failure> {
        let standing = tables.rows("SELECT name, status, dissents FROM workers", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?.unsigned_abs()))
        })?;
        let was_cut_short = self.jobs.iter().any(|job| job.is_cancelled);
        for (name, status, dissents) in standing {
            let is_banned = status == "banned";
            let is_right = match name == LIAR {
                true => is_banned == (dissents >= LIES_UNTIL_BANNED) && (is_banned || was_cut_short),
                false => !is_banned && dissents == 0,
            };
            if !is_right {
                return Ok(Finding::of(Err(format!("{name} dissented {dissents} times and is {status}"))));
            }
        }
        Ok(Finding::of(Ok(
            "the majority found the liar out and banned it; no other worker dissented".to_owned()
        )))
    }

    /// P9, P17: each completed job has a receipt that proves offline who gave the right result.
    fn receipts_verify(&self, tables: &Tables) -> Result<Result<String, String>, Failure> {
        let mut verified = 0;
        for job in self.jobs.iter().filter(|job| job.ending() == "completed") {
            let accepted = tables.count(
                "SELECT coalesce(assignment_id, 0) FROM pool_ends WHERE id = ?1",
                [job.id.cast_signed()],
            )?;
            let key = job.receipt.as_ref().and_then(|receipt| self.keys.get(&receipt.worker_id));
            if let Err(fault) = job.check_receipt(accepted, key.map(String::as_str)) {
                return Ok(Err(format!("the receipt of job {}: {fault}", job.id)));
            }
            verified += 1;
        }
        Ok(Ok(format!("{verified} receipts verify offline, against the workers' own keys")))
    }

    /// P6, P16: what a killed worker had begun was submitted under the same assignments after its restart.
    fn kills_made_good(&self, tables: &Tables) -> Result<Result<String, String>, Failure> {
        let was_cut_short = self.jobs.iter().any(|job| job.is_cancelled);
        if self.kills.len() < self.rounds && !was_cut_short {
            return Ok(Err("no worker of the pool was killed at work".to_owned()));
        }
        let signed = self.assignments(tables, "signature IS NOT NULL")?;
        let held: Vec<u64> = self.kills.iter().flat_map(|kill| kill.held.iter().copied()).collect();
        match held.iter().find(|id| !signed.contains(id)).filter(|_| !was_cut_short) {
            Some(id) => Ok(Err(format!("assignment {id} of a killed worker has no result"))),
            None => Ok(Ok(format!(
                "{VICTIM} was killed at work (kill -9): the {} begun jobs were submitted after the restart, each once",
                held.len()
            ))),
        }
    }

    /// P16: workers that are asked to leave submit everything first. Refused results came too late for a vote or for a
    /// cancelled job.
    fn workers_stopped(&self, tables: &Tables) -> Result<Result<String, String>, Failure> {
        let revoked = self.assignments(tables, "state = 'REVOKED'")?;
        let (undelivered, refused) = (self.undelivered, self.refused.len());
        Ok(match self.unsuccessful.first() {
            Some(first) => Err(first.clone()),
            None if undelivered > 0 => {
                Err(format!("{undelivered} results are left in the spools of the pool's workers"))
            }
            None => match self.refused.iter().find(|id| !revoked.contains(id)) {
                Some(id) => Err(format!("the result of assignment {id} was refused")),
                None => Ok(format!(
                    "the pool's workers left on request, spools empty; {refused} results came too late"
                )),
            },
        })
    }

    fn assignments(&self, tables: &Tables, condition: &str) -> Result<BTreeSet<u64>, Failure> {
        let ids = tables.column::<i64>(&format!("SELECT id FROM pool_assignments WHERE {condition}"), [])?;
        Ok(ids.into_iter().map(i64::unsigned_abs).collect())
    }
}

fn owner_of<'a>(owners: &'a [Person], name: &str) -> Result<&'a Person, Failure> {
    let owner = owners.iter().find(|owner| owner.name == name);
    owner.ok_or_else(|| io::Error::other(format!("there is no owner {name}")).into())
}

async fn receipt(client: &Client, job: u64) -> Result<Receipt, Failure> {
    let receipt: Value = client.get(&["jobs", &job.to_string(), "receipt"], &[]).await?;
    let read = Receipt::parse(receipt.to_string().as_bytes());
    Ok(read.map_err(|error| io::Error::other(format!("the receipt of job {job}: {error}")))?)
}

/// Status of a job, hash of its accepted result, number of its assignments. Their ids are 64 times the job's and a number.
const JOB: &str = "
    SELECT e.status, a.output_hash, (SELECT count(*) FROM pool_assignments WHERE id / 64 = e.id)
    FROM pool_ends e LEFT JOIN pool_assignments a ON a.id = e.assignment_id WHERE e.id = ?1";
const BEGUN: &str = "
    SELECT a.id FROM pool_assignments a JOIN workers w ON w.id = a.worker_id
    WHERE w.name = ?1 AND a.state = 'STARTED'";
/// Assignments that ended without a signed result, except those of votes and of cancelled jobs, which may be revoked.
const LEASE_LOST: &str = "
    SELECT count(*) FROM pool_assignments a
    JOIN pool_jobs j ON j.id = a.id / 64 JOIN pool_ends e ON e.id = j.id
    WHERE (a.state IN ('COMPLETED', 'FAILED')) <> (a.signature IS NOT NULL)
        OR (a.signature IS NULL AND NOT (a.state = 'REVOKED' AND (j.redundancy > 1 OR e.status = 'cancelled')))";
const OWNER_TWICE: &str = "
    SELECT count(*) FROM (SELECT 1 FROM pool_assignments
        WHERE state = 'COMPLETED' GROUP BY id / 64, owner_user_id HAVING count(*) > 1)";
/// Number of lies until their author is banned (P15).
const LIES_UNTIL_BANNED: u64 = 3;
