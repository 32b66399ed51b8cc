//! The table of codes: one row per code.

/// The rule and the words of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The code that scripts match on; unique in the whole table.
    pub code: &'static str,
    /// The rule behind it; two where runs and their rows have one each.
    pub rule: &'static str,
    /// The kinds of things that it can be said of.
    pub kinds: &'static [&'static str],
    /// The sentence after its subject, over the data: `{key}`, `{key#one|many}` for a number with its noun, `{key:ago}`
    /// and `{key:in}` for a moment, and `[…]` for a part that is left out when a key in it is missing.
    pub says: &'static str,
    /// The advice: what to do about it.
    pub advice: &'static str,
}

/// Every code there is: the engine's, then those of court tasks.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// A row is `code "rule" [kinds] "sentence" "advice";`.
macro_rules! table {
    ($($code:ident $rule:literal [$($kind:ident),*] $says:literal $advice:literal;)*) => {
        const ROWS: &[Row] = &[$(Row {
            code: stringify!($code),
            rule: $rule,
            kinds: &[$(stringify!($kind)),*],
            says: $says,
            advice: $advice,
        }),*];
    };
}

table! {
    // Runs, devices, their rows, nodes and schedules (contracts Q and N).
    running "Q1" [run, device, task_device, node]
        "is running: {running#attempt is live|attempts are live}"
        "Nothing. If it takes too long, look at its attempts; each ends by itself when its time is over.";
    ended "Q7, Q8" [run, task_device]
        "has ended with status {status}[ and outcome {outcome}]"
        "Nothing. What failed can be tried again as a new run.";
    queued_behind "Q2" [run]
        "is queued behind {ahead#older run|older runs} of its queue; run {run_id} is active"
        "Wait for that run or cancel it; or submit to another queue, whose runs go in parallel.";
    work_queued_behind "Q2" [device, node]
        "has nothing to do yet: run {run_id} is for it and queued behind {ahead#older run|older runs} of its queue; run {active_run_id} is active"
        "Wait for the active run or cancel it; or submit to another queue, whose runs go in parallel.";
    no_slot "Q3" [run, device, task_device, node]
        "waits for a free slot: node {node_id} runs {running} of at most {max_devices}"
        "Wait, or raise `max_devices` of the node.";
    lane_busy "Q5" [run, device, task_device]
        "waits because task device {task_device_id} holds device {device_id}"
        "Wait for that attempt to end, or cancel its run.";
    already_served "Q5" [device]
        "has nothing to do because run {run_id} has served device {device_id}"
        "Nothing; the next run gives it work.";
    device_offline "Q6" [run, device, task_device]
        "waits because device {device_id} has been offline for {since:ago}"
        "Look at the device: cable, power, USB debugging. Its node reports it when it is back.";
    waiting_for_devices "Q6" [run]
        "matches no device; it ends as failed in {until:in} unless one appears"
        "Check the scope of the run against `muster device list`; labels and names must match.";
    out_of_scope "Q6" [device]
        "has nothing to do because no active run is for device {device_id}"
        "Nothing, or widen the scope of the next run.";
    stopping "Q7" [device, task_device]
        "is stopping: the run of task device {task_device_id} was cancelled and its node has not reported the end"
        "Wait; it is freed when the node reports, or when its lease is over.";
    awaiting_retry "Q10" [run, device, task_device]
        "waits because attempt {attempt} of task device {task_device_id} failed; its retry comes after the other devices of its node"
        "Wait. `muster run show` tells why the attempt failed.";
    device_error "Q11" [run, device, task_device]
        "is held back because device {device_id} is out of service (ERROR) until an operator returns it"
        "Mend the device, then `muster device return`.";
    node_draining "Q15" [run, device, task_device, node]
        "waits because node {node_id} is draining until an operator resumes it"
        "`muster node resume`, when the maintenance is over.";
    awaiting_pull "N1" [run, device, node]
        "is ready and waits for node {node_id} to ask for work"
        "Nothing if it takes a moment; else look at the agent on that node.";
    awaiting_redelivery "N2" [run, device, task_device]
        "waits because task device {task_device_id} was handed out and not confirmed; it goes out again in {at:in}"
        "Wait; if it happens again and again, look at the network and the log of that node.";
    node_offline "N15" [run, device, task_device, node]
        "waits because node {node_id} has been silent for {since:ago}"
        "Look at the machine, its network and its agent; it is taken back as soon as it calls.";
    supply_paused "N17" [run, device, task_device, node]
        "waits because node {node_id} gets no work for another {until:in}: many of its devices dropped out at once"
        "Look at the hub and power of that node: many of its devices vanished at once.";
    device_contested "N1b" [device, node]
        "goes to and fro because nodes {node_id} and {other_node_id} both report device {device_id}"
        "Let one of them report it. Simulated devices begin at another number with `--devices simulated:COUNT@FIRST`.";
    no_work "Q2" [device, node]
        "has nothing to do because there is no work"
        "Submit a run.";
    schedule_waiting "Q17" [schedule]
        "waits for its next occurrence in {next_at:in}[; run {run_id} was its last][; missed occurrences follow the policy {missed}]"
        "Nothing; check its cron expression and time zone if that is not when you meant.";
    schedule_due "Q17" [schedule]
        "has been due for {slot:ago} and is about to submit its run[; missed occurrences follow the policy {missed}]"
        "Nothing; if it stays so, look at the log of the server that leads.";
    schedule_over "Q17" [schedule]
        "will never be due again[; run {run_id} was its last]"
        "Delete it, or make one whose days exist.";

    // Sessions, ranges of their frames, simulation workers (contract S).
    session_running "S3" [session]
        "is running: {running#range is at a worker|ranges are at workers}"
        "Nothing; its page shows how far the ranges are.";
    session_merging "S22" [session, range]
        "has all its frames; its manifest is being written"
        "Wait; if it stays so, look at the log of the server that leads and at the disk of the output.";
    session_ended "S26" [session, range]
        "has ended with status {status}"
        "Nothing if no frame is missing; else the session names the frames, and `muster session retry` renders them again.";
    session_paused "S26" [session, range]
        "gets no more workers because session {session_id} is paused"
        "`muster session resume`.";
    farm_paused "S6" [session, range, worker]
        "waits because all simulation workers are paused"
        "Tell them to go on: `POST /api/v1/workers/broadcast` with `{\"command\":\"ResumeAll\"}`.";
    session_queued_behind "S26" [session, range]
        "waits behind {ahead#older session|older sessions} with frames to give out; session {session_id} is the first"
        "Wait, or pause the older session.";
    no_sim_workers "S1" [session, range]
        "waits because no simulation worker is registered"
        "Start one: `muster sim-worker`.";
    sim_workers_lost "S8" [session, range]
        "waits because {workers#simulation worker is|simulation workers are} silent and no other is there"
        "Look at those machines and their network; whoever registers again gets work.";
    sim_workers_quarantined "S9" [session, range]
        "waits because {workers#simulation worker is|simulation workers are} in quarantine and no other is there"
        "Find out why they failed, then `muster worker approve`.";
    no_capable_worker "S8" [session, range]
        "waits because no simulation worker may work: {lost} silent, {quarantined} in quarantine"
        "Bring back a silent one, or approve one in quarantine.";
    sim_workers_busy "S3" [session, range]
        "waits because {workers#simulation worker has|simulation workers have} no slot free"
        "Wait, or start more workers.";
    sim_workers_unheard "S8" [session, range]
        "waits for the first good heartbeat of {workers#simulation worker|simulation workers}"
        "Look at the workers: they registered, and must send heartbeats before they get work.";
    sim_workers_degraded "S10" [session, range]
        "waits because {workers#simulation worker with a free slot has its queue full|simulation workers with a free slot have their queues full}"
        "Wait for their queues to empty; look at their disks and encoders if they do not.";
    sim_workers_unreachable "S3" [session, range]
        "waits because {workers#simulation worker|simulation workers} could not be reached by push; another push follows after a pause"
        "Check the endpoint that the worker registered, and the firewall before it.";
    awaiting_sim_worker "S3" [session, range]
        "is ready, but {workers#free simulation worker has|free simulation workers have} not asked for work yet"
        "Nothing if it takes a moment; else look at the workers.";
    range_unconfirmed "S3" [range]
        "was given to worker {worker_id} {since:ago} ago as attempt {attempt}, and is not confirmed yet"
        "Wait; it is given again when the worker asks.";
    range_running "S4" [range]
        "is running as attempt {attempt} at worker {worker_id}: {processed} of {frames} frames"
        "Nothing.";
    range_awaiting_replay "S16" [range]
        "waits for a worker to ask: attempt {attempt}, at worker {worker_id}, ended without a result"
        "Nothing; the whole range goes to the next worker that asks, with ids of its own.";
    range_awaiting_another_worker "S26b" [range]
        "failed at worker {worker_id} in attempt {attempt} and is kept for another worker for {until:in}"
        "Look at the error of the attempt in the session's diagnostics. If no other worker asks, the same one gets it again.";
    range_ended "S5" [range]
        "has ended with status {status}"
        "Nothing.";
    sim_worker_lost "S8" [worker]
        "has been silent for {since:ago}"
        "Look at the machine and its network; it gets work again when it registers.";
    sim_worker_quarantined "S9" [worker]
        "has been in quarantine for {since:ago}[: {reason}]"
        "Find out why, then `muster worker approve`.";
    sim_worker_removed "S6" [worker]
        "was removed {since:ago} ago[: {reason}]"
        "Start it again if it is to come back: it registers by itself.";
    sim_worker_unheard "S8" [worker]
        "registered {since:ago} ago and has not sent a good heartbeat yet; it gets no work before that"
        "Look at its log: it must send heartbeats, without an error and with a queue that is not full.";
    sim_worker_degraded "S8" [worker]
        "has been Degraded for {since:ago}[: {reason}]; it gets fewer frames at a time"
        "Look at its queue, its errors and its network; fine heartbeats make it Healthy again.";
    sim_worker_queue_full "S10" [worker]
        "gets nothing because its queue is full"
        "Wait for its queue to empty; look at its disk and encoder if it does not.";
    sim_worker_unreachable "S3" [worker]
        "could not be reached by push; the next push follows in {until:in}"
        "Check the endpoint that it registered, and the firewall before it.";
    sim_worker_running "S3" [worker]
        "is running {running#range|ranges}"
        "Nothing.";
    no_frames "S3" [worker]
        "has nothing to do because no session has frames to give out; {sessions#session is|sessions are} open"
        "Submit a session, or resume a paused one.";
    sim_worker_idle "S3" [worker]
        "has not asked for work; session {session_id} has frames for it"
        "Nothing if it takes a moment; else look at the worker.";

    // Jobs and workers of the pool (contract P).
    job_ended "P13" [job]
        "has ended with status {status}"
        "Nothing; a failed one says why, and can be handed in again.";
    job_running "P6" [job]
        "is running on {running#worker|workers}"
        "Nothing.";
    lease_out "P5" [job]
        "waits because worker {worker_id}, which has it, is silent; it goes to another in {until:in} at the latest"
        "Wait, or bring that worker back.";
    no_workers "P3" [job]
        "waits because there are no workers; register one with POST /workers/register"
        "Register a worker: `muster pool-worker`.";
    no_worker_in_region "P14" [job]
        "waits because no worker is in its region \"{region}\""
        "Register a worker there, or hand the job in without a region.";
    requirements_unmet "P14" [job]
        "waits because no worker has what it `requires` in its specs_json"
        "Compare its `requires` with the specs of the workers.";
    workers_away "P14" [job]
        "waits because the workers that could do it are away: {offline} offline, {draining} draining, {banned} banned"
        "Bring one of them back.";
    workers_busy "P6" [job]
        "waits because {workers#worker that could do it has its|workers that could do it have their} slots full"
        "Wait, or bring more workers.";
    too_few_owners "P15" [job]
        "needs workers of {needed} different owners, but only {owners#owner has|owners have} a worker that could do it"
        "Bring a worker of another owner, or ask for less redundancy.";
    higher_priority_first "P14" [job]
        "waits because jobs of priority {priority} go first"
        "Wait, or hand it in with a higher priority.";
    clients_turn "P14" [job]
        "waits its turn: clients take turns, and another client's job is next"
        "Nothing; its turn comes.";
    older_job_first "P14" [job]
        "waits because an older job of the same client is next"
        "Nothing; its turn comes.";
    waiting_for_poll "P6" [job]
        "waits because {workers#worker that could do it has|workers that could do it have} not asked since; it begins with the next poll"
        "Nothing if it takes a moment; else look at the workers.";
    pool_worker_banned "P15" [worker]
        "is banned: {reason}"
        "An ADMIN lifts the ban when the cause is gone.";
    pool_worker_offline "P5" [worker]
        "has been silent for {since:ago}"
        "Start it again, or look at its network.";
    pool_worker_draining "P14" [worker]
        "is draining: it gets no more work and still runs {running#job|jobs}"
        "Resume it when it is to work again.";
    pool_worker_full "P6" [worker]
        "is running {running#job|jobs}, its maximum"
        "Nothing, or register it with more slots.";
    pool_worker_running "P6" [worker]
        "is running {running#job|jobs} of at most {slots}"
        "Nothing.";
    no_jobs "P14" [worker]
        "has nothing to do because no job waits"
        "Hand in a job.";
    no_matching_job "P14" [worker]
        "has nothing to do because {waiting#waiting job does|waiting jobs do} not match it"
        "Compare region, requirements and redundancy of those jobs with this worker.";
    pool_worker_idle "P6" [worker]
        "has not asked for work; job {job_id} waits for it"
        "Nothing if it takes a moment; else look at the worker.";

    // Tasks of a court (contract C).
    court_no_king "C13" [court_task]
        "waits because no king is running"
        "Start `muster court king`, or `muster court run`.";
    court_event_untaken "C13" [court_task]
        "is an event that the king has not processed yet"
        "Nothing if it takes a moment; else look into the king's log.";
    court_host_busy "C19" [court_task]
        "waits because the host's health is {health}, so events of {priority} priority wait"
        "See state/resources.json for what is scarce. The limits are in `[chamberlain]` of court.toml; without `obey_health` in `[king]` no event waits.";
    court_host_unwatched "C19" [court_task]
        "waits because the chamberlain has not checked the host for two minutes"
        "Start `muster court chamberlain`, or `muster court run`.";
    court_event_over "C13" [court_task]
        "is an event that ended as {status}[: {reason}]"
        "Nothing; if no general subscribes to its type, write one that does and submit the event again.";
    court_task_missing "C6" [court_task]
        "is an event whose task[ {court_task_id}] is missing"
        "Move the event back to queue/events/pending: the king then makes its task.";
    court_no_general "C13" [court_task]
        "waits because this court has no general {general}"
        "Write generals/NAME.toml for it and start the general; or remove the file, if nobody wants it done.";
    court_general_stopped "C5" [court_task]
        "waits because the general {general} is not running"
        "Start `muster court general NAME`, or `muster court run`.";
    court_soldiers_busy "C16" [court_task]
        "waits because the general {general} already runs {soldiers#soldier|soldiers}, its maximum"
        "Wait, or raise `max_soldiers` of that general.";
    court_task_untaken "C16" [court_task]
        "is ready and waits for the general {general} to take it"
        "Nothing if it takes a moment; else look into the general's log.";
    court_soldier_working "C16" [court_task]
        "is running as attempt {attempt}[ for {since:ago}] under the general {general}"
        "Nothing.";
    court_soldier_silent "C16" [court_task]
        "hangs: the soldier of attempt {attempt} has shown no sign of life for {since:ago}"
        "Start its general again: it then takes the task up again.";
    court_fleet_working "C17" [court_task]
        "is running on the coordinator's fleet[ as run {run_id}][ as session {session_id}][ as job {job_id}]"
        "Ask why that one waits: `muster explain`.";
    court_fleet_asked "C17" [court_task]
        "is being handed to the coordinator, which has not taken it yet"
        "Nothing if it takes a moment; else check `[coordinator]` in court.toml, and that the server runs.";
    court_retry_waits "C16" [court_task]
        "waits for its next attempt after a pause; attempt {attempt} failed[: {error}]"
        "Wait, or lower `retry_after_s` of its general.";
    court_result_unclosed "C14" [court_task]
        "has its result, which the king has not closed yet"
        "Nothing if it takes a moment; else look into the king's log.";
    court_question_open "C14" [court_task]
        "needs an answer[, for {since:ago}]: {question}"
        "Answer it: `muster court reply`, the dashboard, or in its thread.";
    court_question_answered "C14" [court_task]
        "asked, and was answered[; task {court_task_id} goes on with it]"
        "Look at the task that goes on with it.";
    court_task_completed "C14" [court_task]
        "is completed[: {summary}]"
        "Nothing.";
    court_task_failed "C14" [court_task]
        "failed[: {error}]"
        "Mend the cause and submit its event again, under another id.";
    court_task_skipped "C14" [court_task]
        "was skipped[: {reason}]"
        "Nothing.";
    court_file_unreadable "C12" [court_task]
        "cannot be read: {error}"
        "Its consumer sets it apart in rejected/ when it runs; mend it and put it back from there.";
}
