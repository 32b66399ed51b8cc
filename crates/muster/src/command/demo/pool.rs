//! The demo's pool: workers of owners who need not trust each other, and the jobs of a client (contract P).
//!
//! In each round the client's jobs are done by one worker each, one of which is killed at it; then there are jobs that
//! are voted on. In the first round the honest owners keep their workers from these until the liar has handed in enough
//! lies to be found out: a majority that is complete without it would not notice.

mod job;
mod member;
mod person;
mod round;

pub(super) use job::{Job, JobPlan, Kind};
pub(super) use member::{BUILT_IN, MEMBERS, Member};

use super::{ledger, server::Server};
use crate::{
    client::{Client, ClientError, Listing},
    failure::Failure,
    reason::Reason,
};
use member::VICTIM;
use muster_coordinator::instant_now;
use muster_proof::Receipt;
use person::Person;
use round::{Act, Round};
use serde_json::{Value, json};
use std::{collections::BTreeMap, io, path::PathBuf, time::Duration};
use tokio::time::Instant;

/// All workers, at work, and what there is to do.
pub(super) struct Pool {
    members: Vec<Member>,
    owners: Vec<Person>,
    /// Whose jobs they are.
    customer: Person,
    /// The demo's files.
    directory: PathBuf,
    jobs: Vec<Job>,
    rounds: Vec<Round>,
    losses: Vec<PoolLoss>,
    asked_at: Option<Instant>,
}

/// A worker that was killed.
#[derive(Debug)]
pub(super) struct PoolLoss {
    pub(super) round: usize,
    pub(super) worker: &'static str,
    /// The assignments that it had begun and not handed in.
    pub(super) held: Vec<u64>,
    /// How many of their results were in its spool.
    pub(super) spooled: usize,
}

/// How the workers were found at the end.
#[derive(Debug, Default)]
pub(super) struct PoolRest {
    /// The keys that results are checked with, by worker, from the workers' own files.
    pub(super) keys: BTreeMap<u64, String>,
    /// Results that are left in spools.
    pub(super) spooled: usize,
    /// Assignments whose results were refused for good.
    pub(super) set_aside: Vec<u64>,
    /// Those that did not end well, in words.
    pub(super) unwell: Vec<String>,
}

impl Pool {
    /// Makes the people, starts the workers and waits until the server knows them.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let owner = |name| Person::welcome(name, "WORKER_OWNER", server);
        let (anna, bert, mallory, customer) = tokio::try_join!(
            owner("anna"),
            owner("bert"),
            owner("mallory"),
            Person::welcome("carla", "CLIENT", server)
        )?;
        let owners = vec![anna, bert, mallory];
        let mut members = Vec::new();
        for plan in &MEMBERS {
            members.push(Member::start(plan, of(&owners, plan.owner)?, server).await?);
        }
        for member in &mut members {
            member.become_known(of(&owners, member.plan.owner)?).await?;
        }
        let (jobs, rounds, losses) = (Vec::new(), Vec::new(), Vec::new());
        let directory = server.directory().to_owned();
        Ok(Self { members, owners, customer, directory, jobs, rounds, losses, asked_at: None })
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Jobs over all rounds, as they were submitted.
    pub(super) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    pub(super) fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    pub(super) fn losses(&self) -> &[PoolLoss] {
        &self.losses
    }

    /// Whether no round is under way.
    pub(super) fn is_done(&self) -> bool {
        self.rounds.last().is_none_or(Round::is_over)
    }

    /// Begins the next round.
    pub(super) async fn submit(&mut self) -> Result<(), Failure> {
        self.rounds.push(Round::begun(instant_now()));
        self.submit_jobs(JobPlan::alone()).await
    }

    /// Looks how all are and how far the jobs are, and does what is planned; asked to stop, cancels what is open.
    pub(super) async fn look(&mut self, is_stopping: bool) -> Result<(), Failure> {
        for member in &mut self.members {
            match member.down_since() {
                None => member.look()?,
                Some(since) if since.elapsed() >= DOWN_FOR => {
                    member.start_again(of(&self.owners, member.plan.owner)?).await?;
                }
                Some(_) => {}
            }
        }
        if self.is_done() || self.asked_at.is_some_and(|at| at.elapsed() < BETWEEN_QUESTIONS) {
            return Ok(());
        }
        self.asked_at = Some(instant_now());
        self.ask().await?;
        let is_idle = self.jobs.iter().all(Job::is_settled);
        match is_stopping {
            false => self.go_on(is_idle).await?,
            true if is_idle => self.end_round(),
            true => self.cancel().await?,
        }
        Ok(())
    }

    /// Has the workers leave, and looks at what they leave.
    pub(super) async fn finish(&mut self) -> Result<PoolRest, Failure> {
        let mut rest = PoolRest::default();
        for member in &mut self.members {
            let owner = of(&self.owners, member.plan.owner)?;
            // One that is down may have something to hand in.
            if member.down_since().is_some() {
                member.start_again(owner).await?;
            }
            member.become_known(owner).await?;
            rest.unwell.extend(member.stop().await?);
            rest.spooled += member.spooled()?.len();
            rest.set_aside.extend(member.set_aside()?);
            rest.keys.insert(member.id, member.public_key()?);
        }
        Ok(rest)
    }

    /// Takes the next step, where it is due.
    async fn go_on(&mut self, is_idle: bool) -> Result<(), Failure> {
        match self.rounds.last().map(|round| round.act) {
            Some(Act::Alone) if self.is_killed_midway() && is_idle => self.begin_votes().await,
            // Too fast for the demo: what it did not see under way is given out once more.
            Some(Act::Alone) if is_idle => self.submit_jobs(JobPlan::bait()).await,
            Some(Act::Alone) => self.kill_if_due().await,
            Some(Act::Lies) => self.end_lies_if_due().await,
            Some(Act::Votes) if is_idle => {
                self.end_round();
                Ok(())
            }
            Some(Act::Votes | Act::Over) | None => Ok(()),
        }
    }

    /// The liar is let lie first, unless it was shut out in an earlier round.
    async fn begin_votes(&mut self) -> Result<(), Failure> {
        let is_liar_out =
            self.members.iter().any(|member| member.plan.is_liar() && member.standing.is_banned());
        if !is_liar_out {
            self.tell_honest("drain").await?;
        }
        self.submit_jobs(JobPlan::votes()).await?;
        self.set_act(if is_liar_out { Act::Votes } else { Act::Lies });
        Ok(())
    }

    async fn end_lies_if_due(&mut self) -> Result<(), Failure> {
        let Some(liar) = self.members.iter().find(|member| member.plan.is_liar()) else { return Ok(()) };
        if ledger::pool::results_of(&self.directory, liar.id)? >= LIES_UNTIL_BANNED {
            self.tell_honest("resume").await?;
            self.set_act(Act::Votes);
        }
        Ok(())
    }

    /// Has the honest owners' workers get no more work, or get it again (P14).
    async fn tell_honest(&self, what: &str) -> Result<(), Failure> {
        for member in self.members.iter().filter(|member| !member.plan.is_liar()) {
            let owner = of(&self.owners, member.plan.owner)?;
            owner.client.post(&["workers", &member.id.to_string(), what], &json!({})).await?;
        }
        Ok(())
    }

    fn is_killed_midway(&self) -> bool {
        self.losses.iter().any(|loss| loss.round + 1 == self.rounds.len() && loss.is_midway())
    }

    /// Kills the worker that is to be killed as soon as it is at something.
    async fn kill_if_due(&mut self) -> Result<(), Failure> {
        let is_killed = self.is_killed_midway();
        let due = self.members.iter_mut().find(|member| member.plan.name == VICTIM);
        let Some(victim) = due.filter(|victim| !is_killed && victim.down_since().is_none()) else {
            return Ok(());
        };
        if ledger::pool::begun_by(&self.directory, victim.id)?.is_empty() {
            return Ok(());
        }
        victim.kill().await?;
        let held = ledger::pool::begun_by(&self.directory, victim.id)?;
        let spooled = victim.spooled()?.iter().filter(|id| held.contains(id)).count();
        self.losses.push(PoolLoss { round: self.rounds.len() - 1, worker: VICTIM, held, spooled });
        Ok(())
    }

    /// Submits jobs, all or none. The key makes a repeat harmless, should the answer be lost (P18).
    async fn submit_jobs(&mut self, plans: Vec<JobPlan>) -> Result<(), Failure> {
        let key = format!("demo-jobs-{}", self.jobs.len());
        let jobs: Vec<Value> = plans.iter().map(|plan| plan.submission()).collect();
        let answer = self.customer.client.post_once(&["jobs", "batch"], &json!({"jobs": jobs}), &key).await?;
        let ids = answer["jobs"].as_array().into_iter().flatten().filter_map(|job| job["id"].as_u64());
        let round = self.rounds.len() - 1;
        self.jobs.extend(plans.into_iter().zip(ids).map(|(plan, id)| Job::submitted(plan, id, round)));
        Ok(())
    }

    /// Asks how all are; of what was completed, for the proof.
    async fn ask(&mut self) -> Result<(), Failure> {
        for member in &mut self.members {
            member.ask_for_standing(of(&self.owners, member.plan.owner)?).await?;
        }
        let round = self.rounds.len() - 1;
        let limit = self.jobs.iter().filter(|job| job.round == round).count();
        let listing = Listing { path: &["jobs"], name: "jobs", query: Vec::new(), limit };
        let answer = self.customer.client.list(listing).await?;
        let told = answer["jobs"].as_array().into_iter().flatten();
        let told: BTreeMap<u64, &str> =
            told.filter_map(|job| Some((job["id"].as_u64()?, job["status"].as_str()?))).collect();
        for job in &mut self.jobs {
            if let Some(status) = told.get(&job.id) {
                (*status).clone_into(&mut job.status);
            }
        }
        for job in self.jobs.iter_mut().filter(|job| job.lacks_receipt()).take(RECEIPTS_AT_ONCE) {
            job.receipt = Some(receipt(&self.customer.client, job.id).await?);
        }
        Ok(())
    }

    /// Cancels what has not ended. How it ended shows when it is asked for the next time.
    async fn cancel(&mut self) -> Result<(), Failure> {
        for job in self.jobs.iter_mut().filter(|job| !job.is_over()) {
            match self.customer.client.delete(&["jobs", &job.id.to_string()], &Reason::default()).await {
                Ok(_) => job.is_cancelled = true,
                Err(ClientError::Refused { status, .. }) if status.as_u16() == 409 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn end_round(&mut self) {
        if let Some(round) = self.rounds.last_mut() {
            round.end(instant_now());
        }
    }

    fn set_act(&mut self, act: Act) {
        if let Some(round) = self.rounds.last_mut() {
            round.act = act;
        }
    }
}

impl PoolLoss {
    /// Whether it was killed at something.
    pub(super) fn is_midway(&self) -> bool {
        !self.held.is_empty()
    }
}

fn of<'a>(owners: &'a [Person], name: &str) -> Result<&'a Person, Failure> {
    let owner = owners.iter().find(|owner| owner.name == name);
    owner.ok_or_else(|| io::Error::other(format!("nobody is called {name}")).into())
}

/// The proof of a result (P17).
async fn receipt(client: &Client, job: u64) -> Result<Receipt, Failure> {
    let receipt = client.get(&["jobs", &job.to_string(), "receipt"], &[]).await?;
    let read = Receipt::parse(receipt.to_string().as_bytes());
    Ok(read.map_err(|error| io::Error::other(format!("the receipt of job {job}: {error}")))?)
}

/// How many lies it takes until their author is shut out (P15).
pub(super) const LIES_UNTIL_BANNED: u64 = 3;
/// Long enough for everybody to see it.
const DOWN_FOR: Duration = Duration::from_millis(600);
/// A list of jobs is more to read than anything else that the demo asks for.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(200);
/// So that nobody waits for long while many are fetched.
const RECEIPTS_AT_ONCE: usize = 20;
