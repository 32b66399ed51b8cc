//! Every request has a reply of its own type.

use muster_engine::{Context, Engine};
use muster_model::{
    Ask, Attachment, Command, Completion, Demand, DeviceReport, Digest, EntryId, Facts, FrameHandout,
    FrameSettings, Heartbeat, JobPayload, Labels, LoginRecord, Millis, Missed, Name, PoolJobDraft,
    PoolRegistration, PoolResult, PoolSubmission, PoolWork, Progress, Pull, QuarantineRecord, Ratio,
    Registration, Report, ReportBatch, ReportId, ReportKind, RetryRequest, Roles, ScheduleDraft, Scope,
    SessionId, SessionSubmission, Settings, Specs, Steering, Submission, Timestamp, UserChange, UserId,
    WorkerMessage,
    ask::{self, accounts, devices, frames, pool, schedules},
};
use std::{any::type_name, collections::BTreeSet, sync::Arc};

/// An engine and the types of the requests that it has answered.
struct Desk {
    engine: Engine,
    now: i64,
    answered: BTreeSet<&'static str>,
}

impl Desk {
    /// Has a request decided. `Ask::reply` panics on a reply of another type.
    fn ask<A: Ask>(&mut self, request: A) -> A::Reply {
        self.now += 1;
        let seed = [u8::try_from(self.now % 251).expect("small"); 32];
        let context = Context { now: Timestamp(self.now), seed: &seed, facts: &Facts::default() };
        let command: Command = request.into();
        let asked = format!("{command:?}");
        let executed = self.engine.execute(command, &context);
        self.answered.insert(type_name::<A>());
        A::reply(executed.result.unwrap_or_else(|rejection| panic!("{asked}: {rejection:?}")))
    }
}

/// The engine replies to each request with the reply that the request names; no request is left out.
#[test]
fn every_request_has_its_own_reply() {
    let frames = FrameSettings { max_attempts: 1, ..FrameSettings::default() };
    let engine = Engine::new(Settings { frames, ..Settings::default() });
    let mut desk = Desk { engine, now: 1_000, answered: BTreeSet::new() };
    ask_about_nodes(&mut desk);
    ask_about_tasks(&mut desk);
    ask_about_schedules(&mut desk);
    ask_about_sessions(&mut desk);
    ask_about_workers_of_sessions(&mut desk);
    ask_about_the_pool(&mut desk);
    ask_about_accounts(&mut desk);
    let all: BTreeSet<&str> = ask::names().into_iter().collect();
    let missing: Vec<_> = all.difference(&desk.answered).collect();
    assert!(missing.is_empty(), "asked nowhere in this test: {missing:?}");
}

fn ask_about_nodes(desk: &mut Desk) {
    let worker = || name("PC-01");
    desk.ask(devices::Heartbeat { worker: worker() });
    let device =
        |id: &str| DeviceReport { device: name(id), handle: name(id), attachment: Attachment::Online };
    let attached = Some(vec![device("d1"), device("d2")]);
    desk.ask(Pull { worker: worker(), max: 0, devices: attached });
    desk.ask(devices::SetCap { worker: worker(), cap: Some(2) });
    desk.ask(devices::Drain { worker: worker() });
    desk.ask(devices::Resume { worker: worker() });
    desk.ask(devices::RotateSecret { worker: worker(), hash: [1; 32] });
    desk.ask(devices::Label { lane: name("d1"), labels: Labels::default() });
    desk.ask(devices::Tick {});
    desk.ask(devices::Sweep {});
}

fn ask_about_tasks(desk: &mut Desk) {
    let worker = || name("PC-01");
    let job = desk.ask(submission()).job;
    let (id, kind) = (ReportId::new("r1").expect("an id"), ReportKind::RunStarted { job });
    desk.ask(Report { id, worker: worker(), at: Timestamp(1), body: "{}".into(), kind });
    desk.ask(ReportBatch { messages: vec![WorkerMessage::Heartbeat { worker: worker() }] });
    let lease = Millis::from_secs(60);
    let tasks = desk.ask(devices::Claim { worker: worker(), max: 2, lease });
    let [one, other] = &tasks[..] else { panic!("{tasks:?}") };
    desk.ask(devices::Renew { task: one.id, worker: worker(), lease });
    desk.ask(devices::Complete { task: one.id, worker: None, result: None });
    desk.ask(devices::FailOrRetry { task: other.id, worker: None, error: None });
    // Its one attempt failed, so the device is out of service (Q11).
    desk.ask(devices::ReturnToService { lane: other.lane.clone(), note: None });
    let job = desk.ask(submission()).job;
    desk.ask(devices::Cancel { job });
}

fn ask_about_schedules(desk: &mut Desk) {
    let (slot, run) = (Timestamp(desk.now), submission());
    let next_at = |after: i64| Some(Timestamp(slot.0 + after));
    let draft = ScheduleDraft {
        cron: "* * * * *".into(),
        timezone: "UTC".into(),
        missed: Missed::Skip,
        next_at: Some(slot),
        run,
    };
    let schedule = desk.ask(draft).id;
    desk.ask(schedules::Fire { schedule, slot, next_at: next_at(10_000) });
    desk.ask(schedules::Skip { schedule, next_at: next_at(20_000) });
    desk.ask(schedules::Delete { schedule });
}

fn ask_about_sessions(desk: &mut Desk) {
    register(desk, "w1");
    desk.ask(session("s1", 30));
    let handout = pull(desk, "w1");
    let (worker, task) = (name("w1"), handout.task.clone());
    desk.ask(Progress {
        worker: worker.clone(),
        session: task.session.clone(),
        task: Some(task.clone()),
        processed: 1,
        max_queue_ratio: Ratio(0),
        dropped: 0,
        diagnostics: Vec::new(),
    });
    desk.ask(frames::MoreIds { worker: worker.clone(), task: Some(task.clone()), count: 1 });
    desk.ask(Completion {
        task: task.clone(),
        worker: Some(worker.clone()),
        attempt: Some(handout.attempt),
        range: handout.range,
        chunk: handout.ids.chunk,
        dropped: 0,
        digest: Digest(1),
        result: "{}".into(),
        dry: false,
    });
    let (attempt, chunk) = (handout.attempt, pull(desk, "w1").ids.chunk);
    desk.ask(frames::Pushed { task: task.clone(), attempt, acked: true });
    desk.ask(frames::RetireChunk { chunk, task: None, reason: "by a test".into() });
    desk.ask(frames::Moved { entry: EntryId::Chunk(chunk), files: 1 });
    let record = QuarantineRecord {
        id: EntryId::Chunk(chunk),
        session: task.session.clone(),
        output: "s1".into(),
        worker,
        moved: true,
        files: 1,
        confirmed: None,
        at: Timestamp(1),
    };
    desk.ask(frames::Confirm { record: Box::new(record), note: "looked at".into() });
    desk.ask(frames::Merged { session: task.session.clone(), mark: 0, skipped: Vec::new() });
    desk.ask(frames::Steer { session: task.session, to: Steering::Cancel });
}

fn ask_about_workers_of_sessions(desk: &mut Desk) {
    let worker = || name("w2");
    register(desk, "w2");
    desk.ask(session("s2", 1));
    let task = "s2.00000000".parse().expect("an id");
    desk.ask(frames::Assign { task, worker: worker() });
    let handout = pull(desk, "w2");
    let (task, attempt) = (handout.task.clone(), Some(handout.attempt));
    desk.ask(frames::Fail { task, worker: Some(worker()), attempt, error: "no".into() });
    let session = handout.task.session.clone();
    desk.ask(RetryRequest { session, frames: None, closed: None });
    desk.ask(frames::Rebind { worker: worker(), held: None });
    desk.ask(frames::Broadcast { pause: true });
    desk.ask(frames::Quarantine { worker: worker(), reason: "by a test".into() });
    desk.ask(frames::Approve { worker: worker(), reason: "by a test".into() });
    desk.ask(frames::Remove { worker: worker(), itself: false });
    desk.ask(frames::Dismissed { worker: worker() });
}

fn ask_about_the_pool(desk: &mut Desk) {
    let (owner, client) = (UserId(7), UserId(8));
    let registration = PoolRegistration {
        owner,
        name: "p1".into(),
        region: None,
        specs: Specs::default(),
        specs_json: None,
        public_key: None,
        slots: 3,
    };
    let worker = desk.ask(registration).id;
    desk.ask(pool::SetKey { worker, owner, public_key: "key".into() });
    desk.ask(pool::Beat { worker, owner });
    let jobs = vec![draft(), draft(), draft()];
    let first = desk.ask(PoolSubmission { client, key: None, digest: Digest(1), jobs }).first;
    let handout = desk.ask(pool::Poll { worker, owner, start: true, supply: true }).expect("a job");
    desk.ask(pool::Resume { worker, owner });
    let result = PoolResult {
        assignment: handout.assignment,
        nonce: Some(handout.fence),
        signature: "signature".into(),
        public_key: "key".into(),
        output: None,
        output_hash: None,
        hash_matches: None,
        vote: None,
        error: None,
        artifact_uri: None,
        metrics: None,
        digest: [1; 32],
        batch: None,
    };
    desk.ask(pool::HandIn { worker, owner, result: Arc::new(result) });
    desk.ask(PoolWork { worker, owner, results: Vec::new(), max: 1, start: true, supply: true });
    let job = muster_model::PoolJobId(first.0 + 2);
    desk.ask(pool::Cancel { job, client: Some(client) });
    desk.ask(pool::Drain { worker, owner: Some(owner), draining: true });
    desk.ask(pool::Ban { worker, reason: "by a test".into() });
    desk.ask(pool::Unban { worker, reason: "by a test".into() });
}

fn ask_about_accounts(desk: &mut Desk) {
    let (password_hash, ttl) = (|| Box::from("hash"), Millis::from_secs(60));
    let add = accounts::AddUser { name: "ada".into(), password_hash: password_hash(), roles: Roles::NONE };
    let user = desk.ask(add).id;
    desk.ask(accounts::ChangeUser { user, change: UserChange::default() });
    let login = desk.ask(accounts::Login { user, password_hash: password_hash(), ttl });
    let LoginRecord { id: login, generation, .. } = login;
    desk.ask(accounts::Refresh { login, generation, ttl });
    desk.ask(accounts::Logout { login });
    let (name, prefix) = ("key".into(), "mk_".into());
    let key = desk.ask(accounts::AddKey { user, name, prefix, hash: [1; 32], scopes: None }).id;
    desk.ask(accounts::TouchKey { key });
    desk.ask(accounts::RevokeKey { key, user: Some(user) });
    desk.ask(accounts::Note { action: "test", subject: "nothing".into() });
}

fn register(desk: &mut Desk, worker: &str) {
    let (token_hash, description) = ([1; 32], "{}".into());
    desk.ask(Registration { worker: name(worker), token_hash, endpoint: None, slots: 1, description });
    let (worker, queue_ratio) = (name(worker), Ratio(0));
    desk.ask(Heartbeat { worker, queue_ratio, gpu_usage: None, last_frame: None, error: false, rtt: None });
}

fn pull(desk: &mut Desk, worker: &str) -> Box<FrameHandout> {
    desk.ask(frames::Ask { worker: name(worker), supply: true }).expect("a range")
}

fn session(id: &str, total_frames: u64) -> SessionSubmission {
    SessionSubmission {
        session: SessionId::new(id).expect("an id"),
        digest: Digest(1),
        total_frames,
        frames_per_task: 10,
        strict: false,
        output: id.into(),
        body: "{}".into(),
    }
}

fn draft() -> PoolJobDraft {
    PoolJobDraft {
        payload: "{}".into(),
        priority: 0,
        demand: Demand::default(),
        requires_json: None,
        max_attempts: None,
        timeout: None,
        verify_output_hash: false,
        redundancy: 1,
    }
}

fn submission() -> Submission {
    Submission {
        key: None,
        digest: Digest(1),
        queue: name("default"),
        scope: Scope::All,
        max_attempts: Some(1),
        payload: JobPayload {
            title: None,
            workflow: "w".into(),
            params: "{}".into(),
            timeout: None,
            schedule: None,
        },
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}
