//! The words for what holds court tasks back.

use muster_explain::Row;

/// One row per code that court tasks have.
pub const ROWS: &[Row] = &[
    row(
        ("court_no_king", "C13"),
        "waits because no king is running",
        "Start `muster court king`, or `muster court run`.",
    ),
    row(
        ("court_event_untaken", "C13"),
        "is an event that the king has not taken up yet",
        "Nothing if it takes a moment; else look into the king's log.",
    ),
    row(
        ("court_host_busy", "C19"),
        "waits because the host's health is {health}, so events of {priority} priority wait",
        "See state/resources.json for what is scarce. The limits are in `[chamberlain]` of court.toml; without `obey_health` in `[king]` no event waits.",
    ),
    row(
        ("court_host_unwatched", "C19"),
        "waits because nobody has looked at the host for two minutes",
        "Start `muster court chamberlain`, or `muster court run`.",
    ),
    row(
        ("court_event_over", "C13"),
        "is an event that ended as {status}[: {reason}]",
        "Nothing; if no general subscribes to its type, write one that does and hand the event in anew.",
    ),
    row(
        ("court_task_missing", "C6"),
        "is an event whose task[ {court_task_id}] is nowhere",
        "Move the event back to queue/events/pending: the king then makes its task.",
    ),
    row(
        ("court_no_general", "C13"),
        "waits because this court has no general {general}",
        "Write generals/NAME.toml for it and start the general; or remove the file, if nobody wants it done.",
    ),
    row(
        ("court_general_stopped", "C5"),
        "waits because the general {general} is not running",
        "Start `muster court general NAME`, or `muster court run`.",
    ),
    row(
        ("court_soldiers_busy", "C16"),
        "waits because all {soldiers#soldier|soldiers} of the general {general} are at work",
        "Wait, or raise `max_soldiers` of that general.",
    ),
    row(
        ("court_task_untaken", "C16"),
        "is ready and waits for the general {general} to take it",
        "Nothing if it takes a moment; else look into the general's log.",
    ),
    row(
        ("court_soldier_working", "C16"),
        "is being done as attempt {attempt} by a soldier of the general {general}[, for {since:ago}]",
        "Nothing.",
    ),
    row(
        ("court_soldier_silent", "C16"),
        "hangs: the soldier of attempt {attempt} has shown no sign of life for {since:ago}",
        "Start its general again: the task is then taken up anew.",
    ),
    row(
        ("court_fleet_working", "C17"),
        "is being done by the coordinator's fleet[ as run {run_id}][ as session {session_id}][ as job {job_id}]",
        "Ask why that one waits: `muster explain`.",
    ),
    row(
        ("court_fleet_asked", "C17"),
        "is being handed to the coordinator, which has not taken it yet",
        "Nothing if it takes a moment; else check `[coordinator]` in court.toml, and that the server runs.",
    ),
    row(
        ("court_retry_waits", "C16"),
        "waits for its next attempt after a pause; attempt {attempt} failed[: {error}]",
        "Wait, or lower `retry_after_s` of its general.",
    ),
    row(
        ("court_result_unclosed", "C14"),
        "has its result, which the king has not closed yet",
        "Nothing if it takes a moment; else look into the king's log.",
    ),
    row(
        ("court_question_open", "C14"),
        "needs an answer[, for {since:ago}]: {question}",
        "Answer it: `muster court reply`, the dashboard, or in its thread.",
    ),
    row(
        ("court_question_answered", "C14"),
        "asked, and was answered[; task {court_task_id} goes on with it]",
        "Look at the task that goes on with it.",
    ),
    row(("court_task_completed", "C14"), "is done[: {summary}]", "Nothing."),
    row(
        ("court_task_failed", "C14"),
        "failed[: {error}]",
        "Mend the cause and hand its event in anew, under another id.",
    ),
    row(("court_task_skipped", "C14"), "was skipped[: {reason}]", "Nothing."),
    row(
        ("court_file_unreadable", "C12"),
        "cannot be read: {error}",
        "Its consumer sets it apart in rejected/ when it runs; mend it and put it back from there.",
    ),
];

const fn row((code, rule): (&'static str, &'static str), says: &'static str, advice: &'static str) -> Row {
    Row { code, rule, kinds: &["court_task"], says, advice }
}
