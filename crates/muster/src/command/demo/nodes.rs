//! Contracts N and Q in the demo: three agents with a hundred simulated devices each, and the runs that they execute.
//!
//! The plan is fixed: which devices fail, how often and why is a function of their number. So the check can compare
//! every row of the tables with the plan.

mod plan;

pub(super) use plan::{WORKFLOW, device_id};

use super::{
    process::{Orders, Process, arguments, cancelled, until},
    server::{Server, Tables},
    show::{AGENT_KILLED, Contract, DEVICES_FAILED, Finding, RUN_CANCELLED, Show, grouped},
};
use crate::{
    client::{Client, Order},
    failure::Failure,
};
use muster_contract_operations::{Device, DeviceList, DeviceReturn, RunDetail, RunState};
use muster_model::JobStatus;
use muster_spool::{Directory, Limits, Spool};
use plan::{DEVICES_PER_PC, PCS, ROUND, RunPlan, Twist, devices, pc_of};
use rusqlite::params;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::PathBuf,
};

/// The agents and their runs.
pub(super) struct Nodes {
    agents: Vec<Agent>,
    client: Client,
    tables: Tables,
    /// Acts of the round that were begun.
    acts: usize,
    runs: Vec<Run>,
    /// Ids of the events that killed agents left in their spools.
    left_in_spools: Vec<String>,
    kills: usize,
    /// Devices that used up their attempts and were returned.
    returned: Vec<String>,
    /// Events in the spools after the agents stopped.
    undelivered: usize,
    is_idle: bool,
    unsuccessful: Vec<String>,
}

struct Agent {
    pc: &'static str,
    process: Process,
    spool: PathBuf,
}

/// A run that was submitted.
struct Run {
    id: String,
    plan: &'static RunPlan,
    /// The last response of `GET /api/runs/ID`.
    shown: RunDetail,
    /// The demo cancelled it.
    is_cancelled: bool,
    /// The agent was killed in it.
    had_kill: bool,
}

impl Nodes {
    /// Starts the agents and waits until the server knows all their devices.
    pub(super) async fn start(server: &Server) -> Result<Self, Failure> {
        let mut agents = Vec::new();
        for pc in PCS {
            agents.push(Agent::start(pc, server).await?);
        }
        let nodes = Self {
            agents,
            client: server.client(),
            tables: Tables::open(server.directory())?,
            acts: 0,
            runs: Vec::new(),
            left_in_spools: Vec::new(),
            kills: 0,
            returned: Vec::new(),
            undelivered: 0,
            is_idle: false,
            unsuccessful: Vec::new(),
        };
        let all = (PCS.len() * DEVICES_PER_PC) as u64;
        let ready = nodes.wait_until("SELECT count(*) FROM devices", all).await?;
        if !ready {
            return Err(io::Error::other("the agents do not find the demo's server").into());
        }
        Ok(nodes)
    }

    pub(super) async fn begin_round(&mut self) -> Result<(), Failure> {
        self.acts = 0;
        self.submit_act().await
    }

    pub(super) fn is_done(&self) -> bool {
        self.acts == ROUND.len() && self.runs.iter().all(Run::is_over) && self.agents.iter().all(Agent::is_up)
    }

    /// Watches the runs, does to them what is planned, and begins the next act; cancels them when asked to stop.
    pub(super) async fn step(&mut self, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        for agent in &mut self.agents {
            agent.process.tend().await?;
        }
        for place in 0..self.runs.len() {
            if !self.runs[place].is_over() {
                self.follow(place, is_stopping, show).await?;
            }
        }
        if is_stopping {
            self.acts = ROUND.len();
        } else if self.acts < ROUND.len() && self.runs.iter().all(Run::is_over) {
            self.return_devices(show).await?;
            self.submit_act().await?;
        }
        Ok(())
    }

    pub(super) fn line(&self) -> String {
        let over = self.runs.iter().filter(|run| run.is_over()).count();
        let open = self.runs.iter().find(|run| !run.is_over());
        let open = open.map_or_else(String::new, |run| {
            format!(": {}, {}/{} devices", run.plan.title, run.shown.counts.completed, run.devices().count())
        });
        format!("runs {over}/{} over{open}", self.runs.len())
    }

    /// Waits until no PC owes the summary of a run, then stops the agents.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        self.is_idle = self.wait_until("SELECT count(*) FROM pc_runs", 0).await?;
        for agent in &mut self.agents {
            self.unsuccessful.extend(agent.process.stop().await?);
            self.undelivered += agent.spooled()?.len();
        }
        Ok(())
    }

    pub(super) fn submitted(&self) -> impl Iterator<Item = (String, String)> {
        self.runs.iter().map(|run| ("run".to_owned(), run.id.clone()))
    }

    pub(super) fn contracts(&self, tables: &Tables, callbacks: u64) -> Result<[Contract; 2], Failure> {
        let jobs = tables.count("SELECT count(*) FROM node_events WHERE type = 'task_finished'", [])?;
        let rows = tables.count("SELECT count(*) FROM task_devices", [])?;
        let retries = tables.count("SELECT coalesce(sum(max(attempt - 1, 0)), 0) FROM task_devices", [])?;
        let cancelled = self.runs.iter().filter(|run| run.is_cancelled).count();
        let nodes = Contract {
            name: "nodes",
            did: format!("{} jobs on devices, {} callbacks", grouped(jobs), grouped(callbacks)),
            faults: format!("agents killed: {}", self.kills),
        };
        let operations = Contract {
            name: "operations",
            did: format!("{} runs, {} devices served", self.runs.len(), grouped(rows)),
            faults: format!("attempts failed and repeated: {retries}, runs withdrawn: {cancelled}"),
        };
        Ok([nodes, operations])
    }

    /// Compares the tables with the plan.
    pub(super) fn findings(&self, tables: &Tables) -> Result<Vec<Finding>, Failure> {
        let checked = [
            // Q1, Q5
            (TWICE, "no device has two rows in a run"),
            (OPEN, "no row is running or pending"),
            // Q12
            (NOT_ENDED_ONCE, "every attempt was sent once, executed once, ended once"),
            // N19
            (OUT_OF_ORDER, "of every attempt the start was recorded before the end, and one end"),
            // N5
            (RECORDED_TWICE, "every callback is recorded once"),
            // Q11
            ("SELECT count(*) FROM devices WHERE status = 'ERROR'", "no device is out of service"),
        ];
        let mut findings = vec![self.rows_as_planned(tables)?, self.runs_as_planned(tables)?];
        for (sql, holds) in checked {
            findings.push(Finding::none(tables.count(sql, [])?, holds));
        }
        findings.push(self.interruptions_reported(tables)?);
        findings.push(self.summaries_agree(tables)?);
        findings.push(self.agents_stopped());
        Ok(findings)
    }

    async fn submit_act(&mut self) -> Result<(), Failure> {
        for plan in ROUND[self.acts] {
            // The key makes a repeat harmless, should the response be lost.
            let key = format!("demo-run-{}", self.runs.len());
            let submitted: RunState =
                self.client.order(&["api", "runs"], &plan.submission(), Order::with(Some(&key))).await?;
            let id = submitted.run_id;
            let shown = self.client.get(&["api", "runs", &id], &[]).await?;
            self.runs.push(Run { id, plan, shown, is_cancelled: false, had_kill: false });
        }
        self.acts += 1;
        Ok(())
    }

    async fn follow(&mut self, place: usize, is_stopping: bool, show: &Show) -> Result<(), Failure> {
        let run = &mut self.runs[place];
        run.shown = self.client.get(&["api", "runs", &run.id], &[]).await?;
        if is_stopping && !run.has_ended() {
            run.is_cancelled = cancel(&self.client, &run.id).await?;
        } else if run.plan.twist == Twist::Cancelled && !run.has_ended() && run.is_midway(None) {
            run.is_cancelled = cancel(&self.client, &run.id).await?;
            show.tell(&RUN_CANCELLED);
        } else if let Twist::AgentKilled(pc) = run.plan.twist
            && !run.had_kill
            && run.is_midway(Some(pc))
        {
            run.had_kill = true;
            self.kill(pc).await?;
            show.tell(&AGENT_KILLED);
        }
        Ok(())
    }

    async fn kill(&mut self, pc: &str) -> Result<(), Failure> {
        for agent in self.agents.iter_mut().filter(|agent| agent.pc == pc) {
            agent.process.kill().await?;
            self.left_in_spools.extend(agent.spooled()?);
            self.kills += 1;
        }
        Ok(())
    }

    /// Returns every device that is out of service (Q11).
    async fn return_devices(&mut self, show: &Show) -> Result<(), Failure> {
        let query = [("status", "ERROR".to_owned())];
        let DeviceList { devices, .. } = self.client.get(&["api", "devices"], &query).await?;
        if !devices.is_empty() {
            show.tell(&DEVICES_FAILED);
        }
        for Device { device_id, .. } in devices {
            let note = DeviceReturn { note: Some("given a new cable".to_owned()) };
            self.client.post::<Device>(&["api", "devices", &device_id, "return"], &note).await?;
            self.returned.push(device_id);
        }
        Ok(())
    }

    /// Repeats a statement until its number is the one wanted; false if that takes too long.
    async fn wait_until(&self, sql: &str, wanted: u64) -> Result<bool, Failure> {
        until(async || Ok(self.tables.count(sql, [])? == wanted)).await
    }

    /// Q1, Q10, Q11, N22b: each device of each finished run ended as planned, after as many attempts. An agent that was
    /// killed costs its interrupted tasks one attempt each.
    fn rows_as_planned(&self, tables: &Tables) -> Result<Finding, Failure> {
        let interrupted: BTreeSet<String> = tables.column(INTERRUPTED, [])?.into_iter().collect();
        let (mut rows, mut wrong) = (0, Vec::new());
        for run in self.runs.iter().filter(|run| !run.is_cancelled) {
            let found: BTreeMap<String, (String, u16)> = tables
                .rows(ROWS, params![run.id], |row| {
                    let (id, attempt): (String, u16) = (row.get(0)?, row.get(3)?);
                    let extra = u16::from(run.had_kill && interrupted.contains(&id));
                    Ok((row.get(1)?, (row.get(2)?, attempt - extra)))
                })?
                .into_iter()
                .collect();
            rows += found.len() as u64;
            wrong.extend(run.plan.differences(&found));
        }
        Ok(Finding::of(match wrong.first() {
            None => Ok(format!("{} rows: each device of each finished run ended as planned", grouped(rows))),
            Some(first) => Err(format!("{} rows are not as planned; the first: {first}", wrong.len())),
        }))
    }

    /// Q7: each run ended as it should.
    fn runs_as_planned(&self, tables: &Tables) -> Result<Finding, Failure> {
        for run in &self.runs {
            let wanted = if run.is_cancelled { "cancelled" } else { "success" };
            let ended: Vec<String> =
                tables.column("SELECT status FROM tasks WHERE id = ?1", params![run.id])?;
            if ended != [wanted] {
                return Ok(Finding::of(Err(format!("{} ended {ended:?}, not {wanted}", run.plan.title))));
            }
        }
        let cancelled = self.runs.iter().filter(|run| run.is_cancelled).count();
        let success = self.runs.len() - cancelled;
        Ok(Finding::of(Ok(format!(
            "{} runs: {success} success, {cancelled} cancelled on request",
            self.runs.len()
        ))))
    }

    /// N19, N22b: a killed agent lost no event, and its interrupted tasks were reported.
    fn interruptions_reported(&self, tables: &Tables) -> Result<Finding, Failure> {
        for run in &self.runs {
            if matches!(run.plan.twist, Twist::AgentKilled(_)) && !run.is_cancelled && !run.had_kill {
                return Ok(Finding::of(Err(format!("no agent was killed in {}", run.plan.title))));
            }
        }
        let mut lost = 0;
        for id in &self.left_in_spools {
            let recorded =
                tables.count("SELECT count(*) FROM node_events WHERE event_id = ?1", params![id])?;
            lost += u64::from(recorded != 1);
        }
        let interrupted = tables.column::<String>(INTERRUPTED, [])?.len();
        Ok(Finding::none(
            lost,
            &format!(
                "agents killed at work (kill -9): {}; {interrupted} interrupted tasks and {} events of their spools were \
                 reported after the restart, each once",
                self.kills,
                self.left_in_spools.len()
            ),
        ))
    }

    /// N8b, N14: no agent's summary differs from the rows. An agent counts what ends after a cancellation as it ended,
    /// the server as cancelled.
    fn summaries_agree(&self, tables: &Tables) -> Result<Finding, Failure> {
        let failed = tables.count("SELECT count(*) FROM task_devices WHERE status = 'failed'", [])?;
        if failed != self.returned.len() as u64 {
            let returned = self.returned.len();
            return Ok(Finding::of(Err(format!(
                "{failed} devices failed for good, {returned} were returned"
            ))));
        }
        let alerts = tables.column::<Option<String>>("SELECT task_id FROM alerts", [])?;
        let is_cancelled = |id: &Option<String>| {
            self.runs.iter().any(|run| Some(&run.id) == id.as_ref() && run.is_cancelled)
        };
        let unexpected = alerts.iter().filter(|run| !is_cancelled(run)).count();
        Ok(Finding::none(unexpected as u64, "the summaries of all agents agree with the rows"))
    }

    /// N19, N20: agents that are asked to stop deliver everything first.
    fn agents_stopped(&self) -> Finding {
        let undelivered = self.undelivered;
        Finding::of(match self.unsuccessful.first() {
            Some(first) => Err(first.clone()),
            None if !self.is_idle => Err("an agent owes the summary of a run".to_owned()),
            None if undelivered > 0 => Err(format!("{undelivered} events are left in the agents' spools")),
            None => Ok("the agents ended on request, their spools empty".to_owned()),
        })
    }
}

impl Agent {
    async fn start(pc: &'static str, server: &Server) -> Result<Self, Failure> {
        let directory = server.directory().join("agents");
        std::fs::create_dir_all(&directory)?;
        let spool = directory.join(pc);
        let first = devices().find(|device| pc_of(*device) == pc).unwrap_or_default();
        let flags = [
            ("--server", server.url.clone()),
            ("--node", pc.to_owned()),
            ("--devices", format!("simulated:{DEVICES_PER_PC}@{first}")),
            ("--spool", spool.display().to_string()),
        ];
        let process = Process::start(Orders {
            name: format!("the agent {pc}"),
            args: arguments("agent", flags),
            secrets: vec![("NODE_AGENT_SHARED_SECRET", server.node_secret.clone())],
            files: spool.clone(),
            greeting: None,
        });
        Ok(Self { pc, process: process.await?, spool })
    }

    const fn is_up(&self) -> bool {
        !self.process.is_down()
    }

    /// Ids of the events in its spool. The agent must not be running.
    fn spooled(&self) -> Result<Vec<String>, Failure> {
        let (_spool, recovered) = Spool::open(Directory::open(&self.spool)?, Limits::default())?;
        let id = |bytes: &[u8]| {
            let event: Value = serde_json::from_slice(bytes).unwrap_or_default();
            event["event_id"].as_str().unwrap_or_default().to_owned()
        };
        Ok(recovered.pending.iter().map(|(_, bytes)| id(bytes)).collect())
    }
}

impl Run {
    fn devices(&self) -> impl Iterator<Item = usize> {
        self.plan.scope.devices()
    }

    fn has_ended(&self) -> bool {
        JobStatus::from_word(&self.shown.run.status).is_some_and(JobStatus::is_ended)
    }

    /// Ended, and no device still at it.
    fn is_over(&self) -> bool {
        self.has_ended() && self.shown.counts.running == 0
    }

    /// True if a fifth of the devices is done and others are at work; of one PC or of all.
    fn is_midway(&self, pc: Option<&str>) -> bool {
        let of_pc = |pc| self.shown.per_pc.get(pc).copied().unwrap_or_default();
        let counts = pc.map_or(self.shown.counts, of_pc);
        let targets = self.devices().filter(|device| pc.is_none_or(|pc| pc_of(*device) == pc)).count() as u64;
        !self.has_ended() && counts.running > 0 && counts.completed * 5 >= targets
    }
}

/// Cancels a run; false if it ended just before.
async fn cancel(client: &Client, id: &str) -> Result<bool, Failure> {
    cancelled(client.post(&["api", "runs", id, "cancel"], &json!({}))).await
}

const ROWS: &str = "SELECT id, device_id, status, attempt FROM task_devices WHERE task_id = ?1";
const TWICE: &str =
    "SELECT count(*) FROM (SELECT 1 FROM task_devices GROUP BY task_id, device_id HAVING count(*) > 1)";
const OPEN: &str = "SELECT count(*) FROM task_devices WHERE status IN ('running', 'pending')";
const NOT_ENDED_ONCE: &str = "
    SELECT abs(attempts - sent) + abs(attempts - ended) FROM (SELECT
        (SELECT coalesce(sum(attempt), 0) FROM task_devices) AS attempts,
        (SELECT count(*) FROM execution_logs WHERE event_type = 'SENT') AS sent,
        (SELECT count(*) FROM execution_logs WHERE event_type IN ('SUCCEEDED', 'FAILED')) AS ended)";
const OUT_OF_ORDER: &str = "
    SELECT count(*) FROM (SELECT
            coalesce(max(id) FILTER (WHERE type = 'task_started'), 0) AS started,
            max(id) FILTER (WHERE type = 'task_finished') AS ended,
            count(*) FILTER (WHERE type = 'task_finished') AS ends
        FROM node_events WHERE type IN ('task_started', 'task_finished')
        GROUP BY json_extract(body, '$.task_id'), json_extract(body, '$.attempt'))
    WHERE ends <> 1 OR started > ended";
const RECORDED_TWICE: &str = "
    SELECT abs(count(*) - count(DISTINCT event_id)) + abs(count(*) - (SELECT count(*) FROM event_ids))
    FROM node_events";
/// Rows that ended with their agent (N22b).
const INTERRUPTED: &str = "
    SELECT json_extract(body, '$.task_id') FROM node_events
    WHERE type = 'task_finished' AND json_extract(body, '$.error_message') = 'agent restarted'";
