//! Thousands of events while the court is killed, as a whole and role by role; and nothing may be missing or twice.
//!
//! `MUSTER_EVENTS` says how many events (300); there is a kill for every fifty, ten at least. `MUSTER_SEED` says which chance.

use muster_tests::{Court, Dice, SLACK_TOKEN, Slack, SlackPost, number_from, until, wait_until};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::Path,
    process::Stdio,
    thread,
    time::Duration,
};

/// C2, C3, C4, C5, C6, C8, C9, C13, C14, C16, C18, C21: each event is exactly one task, one result and one message of
/// each kind that is due, and one post each unless the kill hit the post in flight; no file is in two states, none is
/// left over, and nothing is stuck.
#[test]
fn no_kill_loses_or_doubles_an_event() {
    let events: u64 = number_from("MUSTER_EVENTS", 300);
    let kills = (events / 50).max(10);
    let mut dice = Dice::announced();
    let mut palace = Palace::open(&mut dice);
    for round in 1..=kills {
        palace.hand_in(events * round / kills, &mut dice);
        palace.reply();
        thread::sleep(dice.millis(0, 900));
        palace.kill(&mut dice);
        palace.work_off(BACKLOG_MAX);
    }
    palace.work_off(0);
    palace.post_all();
    check_all(&mut palace, events, kills);
    println!("{kills} kills: {}", summary(&palace, events));
}

/// Enough that every role always has something to do, and little enough that a kill is soon made good.
const BACKLOG_MAX: usize = 120;

struct Palace {
    court: Court,
    slack: Slack,
    /// Number of events, and the questions that were answered.
    handed_in: u64,
    answered: BTreeSet<String>,
    is_whole: bool,
}

impl Palace {
    fn open(dice: &mut Dice) -> Self {
        let slack = Slack::start();
        slack.ask_for_patience(1000);
        let settings = format!("[envoy]\nto = \"slack\"\nbase_url = \"{}\"\n{NO_ALERTS}", slack.url());
        let mut court = Court::with(&settings).env("SLACK_BOT_TOKEN", SLACK_TOKEN).env("MUSTER_LOG", "warn");
        court = court.soldier("soldier", SCRIPT);
        for (name, kinds) in GENERALS {
            court = court.general(name, &manifest(kinds));
        }
        std::fs::create_dir(court.path("marks")).unwrap();
        let mut palace = Self { court, slack, handed_in: 0, answered: BTreeSet::new(), is_whole: false };
        palace.start(dice);
        palace
    }

    /// Hands in events until there were so many: as files and by the command, some of them twice.
    fn hand_in(&mut self, until: u64, dice: &mut Dice) {
        while self.handed_in < until {
            self.handed_in += 1;
            let (id, event) = event(self.handed_in, dice);
            match dice.below(25) {
                0 => assert_eq!(self.court.emit(&event), id),
                1 => {
                    self.emit_cut_short(&event, dice);
                    assert_eq!(self.court.emit(&event), id);
                }
                2 => {
                    self.file(&id, &event);
                    assert_eq!(self.court.emit(&event), id);
                }
                _ => self.file(&id, &event),
            }
        }
    }

    /// Answers every question that is open and was not answered yet.
    fn reply(&mut self) {
        for name in self.court.names("state/questions/open") {
            let Some(task) = name.strip_suffix(".json").filter(|task| !self.answered.contains(*task)) else {
                continue;
            };
            let said = self.court.output(&["reply", task, "to", "the", "left"]);
            // The king may have heard an answer between the look and this one.
            assert!(said.code == 0, "{task}: {}", said.stderr);
            self.answered.insert(task.to_owned());
        }
    }

    /// Kills all of it, or one role, and starts it again; sometimes the next life is cut short, too.
    fn kill(&mut self, dice: &mut Dice) {
        if self.is_whole || dice.percent(20) {
            self.court.kill9(None);
            if dice.percent(30) {
                self.court.start_cut_short(&["run"], dice.millis(0, 150));
            }
            return self.start(dice);
        }
        let role = dice.pick(&ROLES);
        self.court.kill9(Some(role));
        thread::sleep(dice.millis(0, 300));
        self.court.start(role);
    }

    /// Waits, answering what is asked, until at most so many events are not over.
    fn work_off(&mut self, most: usize) {
        self.shrink(most, |court| {
            court.count("queue/events/pending") + court.count("queue/events/dispatched")
        });
    }

    /// Waits until all messages are posted.
    fn post_all(&mut self) {
        self.shrink(0, |court| court.count("queue/messages/pending"));
    }

    /// Waits as long as there are ever fewer, however many there are.
    fn shrink(&mut self, most: usize, count: impl Fn(&Court) -> usize) {
        let mut left = count(&self.court);
        while left > most {
            left = until("one less is left", || {
                self.reply();
                Some(count(&self.court)).filter(|now| *now < left)
            });
        }
    }

    /// Lines that soldiers wrote.
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.court.path("marks/lines")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// All roles in one process, or each in its own.
    fn start(&mut self, dice: &mut Dice) {
        self.is_whole = dice.percent(50);
        if self.is_whole {
            return self.court.start(&["run"]);
        }
        for role in ROLES {
            self.court.start(role);
        }
    }

    fn file(&self, id: &str, event: &Value) {
        self.court.hand_in("queue/events/pending", &format!("{id}.json"), event.to_string().as_bytes());
    }

    /// Kills the command that hands an event in.
    fn emit_cut_short(&self, event: &Value, dice: &mut Dice) {
        let mut command = self.court.command(&["emit"]);
        let mut emit =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        emit.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
        thread::sleep(Duration::from_micros(dice.below(20_000)));
        emit.kill().unwrap();
        emit.wait().unwrap();
    }
}

impl Drop for Palace {
    fn drop(&mut self) {
        if thread::panicking() {
            let said = self.court.output(&["doctor"]);
            eprintln!("{}", said.stdout);
            for place in OPEN {
                eprintln!("{place}: {:?}", self.court.names(place));
            }
        }
    }
}

fn event(number: u64, dice: &mut Dice) -> (String, Value) {
    let id = format!("evt-{number}");
    let (_, kinds) = dice.pick(&GENERALS);
    let event = json!({"id": id, "type": dice.pick(kinds), "source": "tests", "repo": null,
        "payload": {"number": number}, "priority": dice.pick(&["high", "normal", "low"]),
        "created_at": "2026-02-07T10:00:00Z", "status": "pending"});
    (id, event)
}

fn manifest(kinds: &[&str]) -> String {
    format!(
        "subscribes = {kinds:?}\ncommand = [\"sh\", \"soldiers/soldier.sh\", \"marks\"]\n\
         max_soldiers = 4\ntimeout_s = 60\nretries = 1\nretry_after_s = 0.2\n"
    )
}

const GENERALS: [(&str, &[&str]); 3] = [
    ("plain", &["plain.work", "plain.work2", "plain.shout", "plain.skip"]),
    ("hard", &["hard.fail", "hard.stumble", "hard.work", "hard.slow"]),
    ("unsure", &["unsure.ask", "unsure.work", "unsure.stumble", "unsure.work2"]),
];
/// Directories that must be empty at the end.
const OPEN: [&str; 7] = [
    "queue/events/pending",
    "queue/events/dispatched",
    "queue/tasks/pending",
    "queue/tasks/in_progress",
    "queue/messages/pending",
    "queue/messages/failed",
    "state/questions/open",
];
const ROLES: [&[&str]; 6] = [
    &["king"],
    &["envoy"],
    &["chamberlain"],
    &["general", "plain"],
    &["general", "hard"],
    &["general", "unsure"],
];
/// Every message is accounted for at the end: no alert about a busy machine may come among them.
const NO_ALERTS: &str = "[chamberlain]\nyellow_percent = 101\norange_percent = 102\nred_percent = 103\n";

/// Says to `lines` which attempt begins, and that no two of one task run at once; then does what its type says.
///
/// `$1` is a directory for marks: what is done once is done by whoever makes the mark.
const SCRIPT: &str = r#"set -eu
exec 9>"$1/$MUSTER_TASK_ID.lock"
flock -n 9 || { echo "two $MUSTER_TASK_ID" >>"$1/lines"; exit 99; }
echo "begin $MUSTER_RESULT_PATH" >>"$1/lines"
leave() {
  echo "{\"task_id\": \"$MUSTER_TASK_ID\", $1}" >"$MUSTER_RESULT_PATH.part"
  mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
}
once() {
  mkdir "$marks/$MUSTER_TASK_ID.once" 2>/dev/null
}
marks=$1
while read -r line; do
  case $line in '"type":'*) type=$line ;; esac
done <"$MUSTER_TASK_PATH"
case $type in
  *resume*) leave '"status": "success", "summary": "went on"' ;;
  *ask*) leave '"status": "needs_human", "summary": "stands still", "question": "Which way?"' ;;
  *skip*) leave '"status": "skipped", "summary": "", "reason": "nothing to do"' ;;
  *fail*) leave '"status": "failed", "summary": "", "error": "as ever"' ;;
  *stumble*) once && exit 3; leave '"status": "success", "summary": "at the second try"' ;;
  *slow*) setsid sleep 600 & sleep 0.3; leave '"status": "success", "summary": "at last"' ;;
  *shout*) leave '"status": "success", "summary": "done", "proclamation": {"channel": "all", "message": "Hear!"}' ;;
  *) leave '"status": "success", "summary": "done"' ;;
esac
"#;

type Files = BTreeMap<String, Value>;

fn check_all(palace: &mut Palace, events: u64, kills: u64) {
    nothing_is_stuck(palace);
    nothing_is_left_behind(palace);
    nothing_is_under_way(palace);
    let (made, tasks) = (over(palace, "queue/events/completed"), over(palace, "queue/tasks/completed"));
    each_event_is_one_task(palace, &made, &tasks, events);
    each_task_has_one_result(palace, &tasks);
    let messages = over(palace, "queue/messages/sent");
    each_message_is_due_once(palace, &tasks, &messages);
    each_message_is_posted(palace, &messages, kills);
    no_attempt_ran_twice(palace);
}

fn summary(palace: &Palace, events: u64) -> String {
    let tasks = palace.court.count("queue/tasks/completed");
    let (messages, posts) = (palace.court.count("queue/messages/sent"), palace.slack.count());
    let attempts = palace.lines().len();
    format!(
        "{events} events, {tasks} tasks, {} of them resumed, {attempts} soldiers, {messages} messages, {} posted twice",
        palace.answered.len(),
        posts - messages
    )
}

fn over(palace: &Palace, place: &str) -> Files {
    palace.court.files(place).into_iter().collect()
}

fn nothing_is_stuck(palace: &Palace) {
    let said = palace.court.output(&["doctor", "--json"]);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(said.code == 0 && found["stuck"].as_array().unwrap().is_empty(), "{found:#}");
}

/// A last life sweeps what the others left; then nothing is there that is no part of a court.
fn nothing_is_left_behind(palace: &mut Palace) {
    palace.court.kill9(None);
    palace.court.start(&["run"]);
    let temporary = || files_below(&palace.court.home()).into_iter().filter(|path| path.contains("/.tmp-"));
    wait_until("temporary files are swept", || temporary().count() == 0);
    wait_until("what attempts left is gone", || palace.court.count("state/attempts") == 0);
    let ended = palace.court.terminate();
    assert!(ended.iter().all(std::process::ExitStatus::success), "{ended:?}");
    let left = palace.court.soldiers();
    assert!(left.is_empty(), "still in the process table: {left:?}");
    assert_eq!(palace.court.names("rejected"), Vec::<String>::new());
}

fn nothing_is_under_way(palace: &Palace) {
    for place in OPEN {
        assert_eq!(palace.court.names(place), Vec::<String>::new(), "{place}");
    }
}

/// Each event that was handed in, and each reply, once.
fn each_event_is_one_task(palace: &Palace, made: &Files, tasks: &Files, events: u64) {
    let replies = made.keys().filter(|id| id.starts_with("evt-slack-reply-")).count();
    assert_eq!(replies, palace.answered.len());
    assert_eq!(palace.court.count("state/questions/answered"), replies);
    assert_eq!(made.len() as u64, events + replies as u64);
    assert_eq!(tasks.len(), made.len());
    let mut seen = BTreeSet::new();
    for (id, task) in tasks {
        let event = &made[task["event_id"].as_str().unwrap()];
        assert!(seen.insert(task["event_id"].as_str().unwrap()), "{} has two tasks", event["id"]);
        assert_eq!(event["dispatch"]["task_id"], **id);
        let is_failed = task["status"] == "failed";
        assert_eq!(event["status"], if is_failed { "failed" } else { "completed" }, "{event}");
        if replies_to(event).is_none() {
            assert_eq!(task["payload"], event["payload"]);
        }
    }
}

fn each_task_has_one_result(palace: &Palace, tasks: &Files) {
    let results = over(palace, "state/results");
    assert!(results.keys().eq(tasks.keys()), "{} results of {} tasks", results.len(), tasks.len());
    for (id, result) in &results {
        let (kind, status) = (tasks[id]["type"].as_str().unwrap(), result["status"].as_str().unwrap());
        let (expected, task_status) = match kind.rsplit('.').next().unwrap() {
            "fail" => ("failed", "failed"),
            "skip" => ("skipped", "skipped"),
            "ask" => ("needs_human", "needs_human"),
            _ => ("success", "completed"),
        };
        assert_eq!(status, expected, "{id}: {result}");
        assert_eq!(tasks[id]["status"], task_status, "{id}");
    }
}

/// The thread's start, one update for the start and for each retry, and the news of the end; nothing else.
fn each_message_is_due_once(palace: &Palace, tasks: &Files, messages: &Files) {
    let events = over(palace, "queue/events/completed");
    let mut due = BTreeMap::new();
    for (id, task) in tasks {
        let event = &events[task["event_id"].as_str().unwrap()];
        let end = if task["status"] == "needs_human" { "human_input_request" } else { "notification" };
        due.insert(text(&event["dispatch"]["thread_start"]), (id.clone(), "thread_start"));
        due.insert(text(&task["closing"]["message"]), (id.clone(), end));
        let updates = task["messages"].as_object().unwrap();
        assert_eq!(updates.len(), 1 + retries(task), "{task}");
        assert!(updates.contains_key("start"), "{task}");
        due.extend(updates.values().map(|update| (text(update), (id.clone(), "thread_update"))));
        if task["type"] == "plain.shout" {
            let message = text(&task["closing"]["proclamation"]);
            due.insert(message, (format!("proclamation-{id}"), "notification"));
        }
    }
    for (id, message) in messages {
        let (task, kind) = due.remove(id).unwrap_or_else(|| panic!("nobody asked for {message}"));
        assert_eq!((&message["context"]["task_id"], &message["type"]), (&task.into(), &kind.into()), "{id}");
        assert_eq!(message["status"], "sent", "{id}");
    }
    assert!(due.is_empty(), "never said: {due:?}");
}

/// Number of attempts followed by one that cost a retry; those that ended with their general cost none.
fn retries(task: &Value) -> usize {
    let attempts = task["attempts"].as_array().unwrap();
    let last = attempts.len() - 1;
    let costs = |attempt: &&Value| attempt["error"] != "the general ended";
    attempts[..last].iter().filter(costs).count()
}

/// Once, or twice where a kill came between the post and its record; never with another text.
fn each_message_is_posted(palace: &Palace, messages: &Files, kills: u64) {
    let mut posted: BTreeMap<String, Vec<SlackPost>> = BTreeMap::new();
    for post in palace.slack.posts() {
        posted.entry(post.id.clone()).or_default().push(post);
    }
    assert!(posted.keys().eq(messages.keys()), "{} posts of {} messages", posted.len(), messages.len());
    let repeats: usize = posted.values().map(|posts| posts.len() - 1).sum();
    // A life that was cut short at its start is a kill as well.
    assert!(repeats as u64 <= 2 * kills, "{repeats} repeats in {kills} kills");
    for (id, posts) in &posted {
        let expected = messages[id]["content"].as_str().unwrap();
        let expected = expected.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(posts.iter().all(|post| post.text == expected), "{id}: {posts:?}");
    }
}

fn no_attempt_ran_twice(palace: &Palace) {
    let mut begun = BTreeSet::new();
    for line in palace.lines() {
        assert!(line.starts_with("begin "), "{line}");
        assert!(begun.insert(line.clone()), "ran twice: {line}");
    }
}

fn replies_to(event: &Value) -> Option<&str> {
    event["payload"]["reply_context"]["task_id"].as_str()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path().to_string_lossy().into_owned()),
        }
    }
    found
}
