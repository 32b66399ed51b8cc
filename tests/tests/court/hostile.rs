//! Hostile text in every field of every kind of file, and hostile files: they are refused or carried, never obeyed (C23).

mod words;

use muster_tests::{Court, SLACK_TOKEN, Slack, until, wait_until, work_off};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
    process::Command,
};

/// A court whose soldiers keep what they were given, and what lies around it.
struct Target {
    court: Court,
    slack: Slack,
}

impl Target {
    fn open() -> Self {
        let slack = Slack::start();
        let settings =
            format!("[envoy]\nto = \"slack\"\nbase_url = \"{}\"\nreplies_poll_s = 1\n", slack.url());
        let manifest = |kind: &str, argv: &str| {
            format!("subscribes = [\"hostile.{kind}\"]\ncommand = [{argv}]\nmax_soldiers = 4\nretries = 0\n")
        };
        let mut court = Court::with(&settings)
            .env("SLACK_BOT_TOKEN", SLACK_TOKEN)
            .general("carry", &manifest("carry", "\"sh\", \"soldiers/carry.sh\""))
            .general("answer", &manifest("answer", "\"python3\", \"soldiers/answer.sh\""))
            .soldier("carry", CARRY)
            .soldier("answer", ANSWER);
        fs::create_dir(court.path("seen")).unwrap();
        fs::write(court.path("../precious"), PRECIOUS).unwrap();
        court.start(&["run"]);
        Self { court, slack }
    }

    /// Waits until nothing is under way.
    fn settle(&self) {
        let left = || OPEN.iter().map(|place| self.court.count(place) as u64).sum();
        let done = || OVER.iter().map(|place| self.court.count(place) as u64).sum();
        work_off("something is over", left, done);
    }

    /// Content of the task file that a soldier found, for the task of an event.
    fn seen(&self, event: &str) -> Vec<u8> {
        let task = self.court.finished(event);
        fs::read(self.court.path("seen").join(task["id"].as_str().unwrap())).unwrap()
    }

    /// Nothing was executed or written elsewhere, everything said is only text, every role lives, and good work is done.
    fn is_unharmed(&mut self) {
        self.settle();
        let good =
            self.court.emit(&json!({"type": "hostile.carry", "source": "tests", "payload": {"good": true}}));
        let task = self.court.finished(&good);
        assert_eq!(self.court.result(&task)["status"], "success");
        self.settle();
        assert!(self.court.is_alive(), "{}", self.court.log());
        self.is_alone();
        self.says_only_text();
        self.tells_of_it_plainly();
    }

    fn is_alone(&self) {
        let home = ["court.toml", "generals", "queue", "rejected", "seen", "soldiers", "state"];
        assert_eq!(self.court.names("."), home);
        assert_eq!(self.court.names(".."), ["court", "court.log", "precious", "run.out"]);
        assert_eq!(fs::read(self.court.path("../precious")).unwrap(), PRECIOUS);
        let refused = self.court.names("rejected");
        for name in refused.iter().filter(|name| !name.ends_with(".reason")) {
            assert!(refused.contains(&format!("{name}.reason")), "no reason for {name:?}");
        }
    }

    /// Whatever was posted is what its file says, escaped once.
    fn says_only_text(&self) {
        let posts = self.slack.posts();
        for (id, message) in self.court.files("queue/messages/sent") {
            let content = message["content"].as_str().unwrap();
            let expected = content.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let post =
                posts.iter().find(|post| post.id == id).unwrap_or_else(|| panic!("{id} was not posted"));
            assert_eq!(post.text, expected);
            // In a thread it goes where the thread is.
            let named = [&message["channel"], &message["context"]["reply_to"]["channel"]];
            assert!(post.thread_ts.is_some() || named.contains(&&json!(post.channel)), "{post:?}");
        }
    }

    /// Commands show what happened without obeying it either.
    fn tells_of_it_plainly(&self) {
        for args in [&["doctor"][..], &["inbox"], &["prune", "--dry-run"]] {
            let said = self.court.output(args);
            for text in [&said.stdout, &said.stderr] {
                assert!(!text.contains(|char: char| char.is_control() && char != '\n'), "{args:?}: {text:?}");
            }
        }
    }

    fn hand_in(&self, place: &str, id: &str, bytes: &[u8]) {
        self.court.hand_in(place, &format!("{id}.json"), bytes);
    }

    fn is_refused(&self, id: &str) -> bool {
        self.court.path("rejected").join(format!("{id}.json")).exists()
    }
}

/// C12, C13, C23: each member of an event, as each text and each wrong value; what is taken reaches the soldier to the
/// byte, what is not is set apart.
#[test]
fn events() {
    let mut target = Target::open();
    let members = ["id", "type", "source", "repo", "payload", "priority", "created_at", "status", "more"];
    let mut base = words::event("evt");
    base["more"] = json!("kept");
    let mut expected = Vec::new();
    for (number, raw) in raws().iter().enumerate() {
        for member in members {
            let id = format!("evt-{member}-{number}");
            base["id"] = json!(id);
            let raw = if member == "payload" { &format!("{{\"text\": {raw}}}") } else { raw };
            let bytes = words::with(&base, member, raw);
            target.hand_in("queue/events/pending", &id, &bytes);
            let is_text = number < words::TEXTS.len();
            if is_text && ["repo", "payload", "source", "more"].contains(&member) {
                expected.push((id, member, raw.clone()));
            } else if is_text && member != "type" {
                expected.push((id, "rejected", String::new()));
            }
        }
    }
    target.settle();
    for (id, member, raw) in expected {
        match member {
            "rejected" => assert!(target.is_refused(&id), "{id}"),
            "payload" => assert!(holds(&target.seen(&id), raw.as_bytes()), "{id}"),
            _ => {
                let event = fs::read(target.court.path("queue/events/completed").join(format!("{id}.json")));
                assert!(holds(&event.unwrap(), raw.as_bytes()), "{id}");
            }
        }
    }
    target.is_unharmed();
}

/// C18, C23: the same through `muster court emit`, which says what it refuses.
#[test]
fn emitted_events() {
    let mut target = Target::open();
    for (number, raw) in raws().iter().enumerate() {
        let id = format!("evt-{number}");
        let bytes = words::with(&words::event(&id), "payload", &format!("{{{raw}: {raw}}}"));
        let said = target.court.output_with(&["emit"], &bytes);
        match said.code {
            0 => assert!(holds(&target.seen(&id), raw.as_bytes())),
            4 => assert!(!said.stderr.is_empty() && number >= words::TEXTS.len(), "{raw}"),
            other => panic!("{other} for {raw:.100}: {}", said.stderr),
        }
    }
    for bytes in words::wrong_files() {
        assert_eq!(target.court.output_with(&["emit"], &bytes).code, 4);
    }
    target.is_unharmed();
}

/// Every hostile text and value, as JSON.
fn raws() -> Vec<String> {
    let texts = words::TEXTS.iter().map(|text| json!(text).to_string());
    texts.chain(words::wrong_values()).collect()
}

fn holds(whole: &[u8], part: &[u8]) -> bool {
    whole.windows(part.len()).any(|window| window == part)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

/// Keeps the task as it is.
const CARRY: &str = r#"cp "$MUSTER_TASK_PATH" "seen/$MUSTER_TASK_ID"
echo "{\"task_id\": \"$MUSTER_TASK_ID\", \"status\": \"success\", \"summary\": \"\"}" >"$MUSTER_RESULT_PATH.part"
mv "$MUSTER_RESULT_PATH.part" "$MUSTER_RESULT_PATH"
"#;
/// Directories of work in progress, then those of finished work.
const OPEN: [&str; 5] = [
    "queue/events/pending",
    "queue/events/dispatched",
    "queue/tasks/pending",
    "queue/tasks/in_progress",
    "queue/messages/pending",
];
const OVER: [&str; 4] =
    ["queue/events/completed", "queue/tasks/completed", "queue/messages/sent", "rejected"];
const PRECIOUS: &[u8] = b"not to be touched";

/// C11, C12, C16, C23: members of a result as hostile texts and wrong values: the task ends, with a valid result,
/// and what people read of it is text.
#[test]
fn results() {
    let mut target = Target::open();
    let (plain, mut events) = (words::result(), Vec::new());
    let members = plain.as_object().unwrap().keys().map(String::as_str);
    for (nth, member) in members.chain(["task_id"]).enumerate() {
        // A third of all for each member, each value for a third of the members: soldiers take their time.
        for raw in raws().iter().skip(nth % 3).step_by(3) {
            let value = String::from_utf8(words::with(&plain, member, raw)).unwrap();
            // A value that does not fit in an event is passed to the soldier by name.
            let short = if value.len() > 500_000 { json!({"large": member}) } else { json!({"raw": value}) };
            let mut event = words::event(&format!("evt-{}", events.len()));
            (event["type"], event["payload"]) = (json!("hostile.answer"), short);
            let id = text(&event, "id").to_owned();
            target.hand_in("queue/events/pending", &id, event.to_string().as_bytes());
            events.push(id);
        }
    }
    for event in events {
        let task = target.court.finished(&event);
        assert!(["completed", "failed"].contains(&text(&task, "status")), "{task}");
        let result = target.court.result(&task);
        assert_eq!(result["task_id"], task["id"]);
    }
    target.is_unharmed();
}

/// C11, C15, C23: a result's texts are carried to people as they are, each where it belongs.
#[test]
fn texts_of_results_reach_people_verbatim() {
    let mut target = Target::open();
    for hostile in words::TEXTS {
        let result = json!({"status": "failed", "summary": hostile, "error": hostile, "notify_channel": hostile,
            "proclamation": {"channel": hostile, "message": hostile}});
        let task = target.court.finished(&target.court.emit(&event(&json!({"raw": result.to_string()}))));
        let id = text(&task, "id");
        target.settle();
        let sent = target.court.files("queue/messages/sent");
        let told = |task: &str| {
            let of = |(_, message): &&(String, Value)| {
                message["context"]["task_id"] == task && message["type"] == "notification"
            };
            sent.iter().find(of).map(|(_, message)| message).unwrap()
        };
        let news = told(id);
        assert_eq!(news["content"], format!("❌ {id}\n{hostile}\n{hostile}"));
        assert_eq!(news["channel"], hostile);
        let proclamation = told(&format!("proclamation-{id}"));
        assert_eq!((&proclamation["content"], &proclamation["channel"]), (&json!(hostile), &json!(hostile)));
    }
    target.is_unharmed();
}

/// C16, C23: a soldier leaves a link, a pipe, a directory, or rubbish in the place of its result.
#[test]
fn results_that_are_none() {
    let mut target = Target::open();
    for kind in ["link", "pipe", "directory", "rubbish", "zeros", "nothing", "beside"] {
        let task = target.court.finished(&target.court.emit(&event(&json!({"leave": kind}))));
        let result = target.court.result(&task);
        assert_eq!(result["status"], "failed", "{kind}: {result}");
        assert!(!text(&result, "error").contains("root:"), "{result}");
    }
    target.is_unharmed();
}

fn event(payload: &Value) -> Value {
    json!({"type": "hostile.answer", "source": "tests", "payload": payload})
}

/// Leaves whatever its payload says; an answer it keeps as it came.
const ANSWER: &str = r#"import json, os, shutil
path, result = os.environ["MUSTER_TASK_PATH"], os.environ["MUSTER_RESULT_PATH"]
task_id = os.environ["MUSTER_TASK_ID"]
with open(path, encoding="utf-8") as file:
    task = json.load(file)
payload = task["payload"]

def leave(data):
    with open(result + ".part", "wb") as file:
        file.write(data)
    os.rename(result + ".part", result)

name = '{"task_id": "%s", ' % task_id
if task["type"] == "resume":
    shutil.copy(path, "seen/" + task_id)
    leave((name + '"status": "success", "summary": "went on"}').encode())
elif "raw" in payload:
    raw = payload["raw"]
    leave((raw if '"task_id"' in raw else name + raw[1:]).encode("utf-8", "surrogatepass"))
elif "large" in payload:
    leave((name + '"status": "success", "summary": "", "%s": "%s"}' % (payload["large"], "x" * (10 << 20))).encode())
else:
    kind = payload["leave"]
    if kind == "link":
        os.symlink("/etc/passwd", result)
    elif kind == "pipe":
        os.mkfifo(result)
    elif kind == "directory":
        os.makedirs(result + "/below")
    elif kind == "rubbish":
        leave(b"\xff\xfe{" + b"[" * 100000)
    elif kind == "zeros":
        leave(bytes(10 << 20))
    elif kind == "beside":
        os.rename(path, path + ".gone") if os.path.exists(path + ".no") else None
        leave(b'{"task_id": "task-20260207-001", "status": "success", "summary": ""}')
"#;

/// C14, C23: hostile questions are shown as they are, and hostile answers reach the soldier as they are.
#[test]
fn answers() {
    let mut target = Target::open();
    // Only texts that an argument can hold: without NUL.
    for hostile in words::TEXTS.iter().filter(|text| !text.contains('\0')) {
        let result = json!({"status": "needs_human", "summary": "", "question": hostile});
        let payload = json!({"raw": result.to_string()});
        let task = target.court.finished(&target.court.emit(&event(&payload)));
        let inbox = target.court.output(&["inbox", "--json"]);
        let inbox: Value = serde_json::from_str(&inbox.stdout).unwrap();
        assert_eq!(inbox["questions"][0]["question"], *hostile);
        let said = target.court.output(&["reply", "--", text(&task, "id"), hostile]);
        assert!(said.code == 0, "{}", said.stderr);
        let event = said.stdout;
        let seen: Value = serde_json::from_slice(&target.seen(event.trim_end())).unwrap();
        assert_eq!((text(&seen, "type"), &seen["payload"]["text"]), ("resume", &json!(hostile)));
    }
    let result = json!({"status": "needs_human", "summary": "", "question": "Long?"});
    let task = target.court.finished(&target.court.emit(&event(&json!({"raw": result.to_string()}))));
    let long = "x".repeat(60_000);
    assert!(target.court.output(&["reply", text(&task, "id"), &long]).code != 0);
    assert_eq!(target.court.count("state/questions/open"), 1);
    target.is_unharmed();
}

/// C14, C23: an answer in a thread is carried as it is; what Slack says of it leads nowhere else.
#[test]
fn answers_in_threads() {
    let mut target = Target::open();
    for hostile in [words::TEXTS[0], words::TEXTS[9], words::TEXTS[11]] {
        let result = json!({"status": "needs_human", "summary": "", "question": hostile});
        let payload = json!({"raw": result.to_string()});
        let task = target.court.finished(&target.court.emit(&event(&payload)));
        let thread = until("the question is asked", || {
            let posts = target.slack.posts_of(text(&task, "id"));
            posts.iter().find(|post| post.text.starts_with('❓')).and_then(|post| post.thread_ts.clone())
        });
        let ts = target.slack.say(&thread, hostile);
        let event = format!("evt-slack-reply-{thread}-{ts}").replace('.', "-");
        assert!(holds(&target.seen(&event), json!(hostile).to_string().as_bytes()));
    }
    target.is_unharmed();
}

/// C14, C23: events that claim to be answers, to questions that nobody asked.
#[test]
fn forged_answers() {
    let mut target = Target::open();
    for hostile in words::TEXTS {
        for context in [
            json!({"task_id": hostile, "target_general": hostile}),
            json!({"task_id": hostile, "target_general": "carry"}),
            json!({"task_id": {"deep": [hostile]}, "target_general": ["carry"]}),
        ] {
            let payload =
                json!({"text": hostile, "channel": hostile, "thread_ts": hostile, "reply_context": context});
            let event = json!({"type": "slack.thread.reply", "source": hostile, "payload": payload, "priority": "high"});
            let said = target.court.output_with(&["emit"], event.to_string().as_bytes());
            assert!(said.code == 0, "{}", said.stderr);
        }
    }
    target.settle();
    assert_eq!(target.court.names("state/questions/answered"), Vec::<String>::new());
    target.is_unharmed();
}

/// Hands in a file for each member and each hostile value of it, in a member that may be anything within an object; gives the ids
/// and values of those that are carried on: texts in these members.
fn hand_in_all(
    target: &Target,
    place: &str,
    file: fn(&str) -> Value,
    carried: &[&str],
) -> Vec<(String, String)> {
    let members: Vec<String> = file("x").as_object().unwrap().keys().cloned().collect();
    let mut expected = Vec::new();
    for (number, raw) in raws().iter().enumerate() {
        for (nth, member) in members.iter().enumerate() {
            let id = format!("{}{}", prefix(place), 1000 * (nth + 1) + number);
            let within = match member.as_str() {
                "payload" => &format!("{{\"text\": {raw}}}"),
                "context" => &format!("{{\"task_id\": {raw}}}"),
                _ => raw,
            };
            target.hand_in(place, &id, &words::with(&file(&id), member, within));
            if number < words::TEXTS.len() && carried.contains(&member.as_str()) {
                expected.push((id, within.clone()));
            }
        }
    }
    target.settle();
    expected
}

/// C12, C16, C23: each member of a task that somebody else wrote; what is taken reaches the soldier to the byte.
#[test]
fn tasks() {
    let mut target = Target::open();
    for (id, raw) in hand_in_all(&target, "queue/tasks/pending", words::task, &["type", "payload"]) {
        let seen = fs::read(target.court.path("seen").join(&id)).unwrap();
        assert!(holds(&seen, raw.as_bytes()), "{id}");
    }
    target.is_unharmed();
}

/// C12, C18, C23: each member of a message; what is taken is posted as text, to the channel that it names.
#[test]
fn messages() {
    let mut target = Target::open();
    for (id, _) in hand_in_all(&target, "queue/messages/pending", words::message, &["channel", "content"]) {
        assert!(target.court.file("queue/messages/sent", &id).is_some(), "{id}");
    }
    target.court.output(&["send", "--type", "notification", "--", words::TEXTS[11]]).done();
    target.is_unharmed();
}

/// C4, C12, C23: things with names that are none, links, pipes, directories, and files that are no documents, in every
/// queue: they are set apart, nothing is followed, and nobody waits for them.
#[test]
fn things() {
    let mut target = Target::open();
    for place in ["queue/events/pending", "queue/tasks/pending", "queue/messages/pending"] {
        let directory = target.court.path(place);
        for name in names() {
            fs::write(directory.join(OsStr::from_bytes(&name)), "{}").unwrap();
        }
        for (number, bytes) in words::wrong_files().iter().enumerate() {
            target.hand_in(place, &format!("{}{number}", prefix(place)), bytes);
        }
        strange(&directory, prefix(place));
    }
    for place in ["state/results", "state/questions/open", "state/threads", "state/heartbeats"] {
        strange(&target.court.path(place), "task-20260207-9");
    }
    target.settle();
    assert!(!fs::read("/etc/passwd").unwrap().is_empty());
    for name in ["link", "dangling"] {
        assert!(target.court.path("rejected").join(format!("evt-{name}.json")).is_symlink(), "{name}");
    }
    // The envoy sets these apart when it next asks Slack for replies. The one that is a document stays: it asks nothing.
    wait_until("the strange questions are set apart", || {
        target.court.names("state/questions/open") == ["task-20260207-9secret.json"]
    });
    target.is_unharmed();
}

/// C23, C6: files that come in the moment in which they are looked at, half written or swapped, harm nobody.
#[test]
fn files_that_change() {
    let mut target = Target::open();
    let pending = target.court.path("queue/events/pending");
    for round in 0..50 {
        let id = format!("evt-{round}");
        let path = pending.join(format!("evt-changing-{round}.json"));
        fs::write(&path, "{\"id\": \"").unwrap();
        let _ = fs::remove_file(&path);
        let _ = symlink("/etc/passwd", &path);
        let _ = fs::remove_file(&path);
        target.hand_in("queue/events/pending", &id, words::event(&id).to_string().as_bytes());
    }
    for round in 0..50 {
        let event = format!("evt-{round}");
        let task = target.court.finished(&event);
        assert_eq!(text(&task, "event_id"), event);
    }
    wait_until("each event is one task", || target.court.count("queue/tasks/completed") == 50);
    target.is_unharmed();
}

/// Names that a consumer sees and that are none.
fn names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "-rf.json",
        "two\nlines.json",
        "evt 1.json",
        "evt-1",
        "evt-1.json.json~",
        "$(touch canary).json",
        "`touch canary`.json",
        "%s{}.json",
        "\u{1b}[31mred.json",
        "ünï.json",
        ";.json",
        "*.json",
        "a\tb",
        "json",
        "evt-1.JSON",
        "~",
        "a=b",
        "'",
        "\"",
        "\\..\\canary.json",
        "evt-1.json.reason",
    ]
    .map(|name| name.as_bytes().to_vec())
    .into();
    names.push(b"\xff\xfe.json".to_vec());
    names.push([b'x'; 250].to_vec());
    names
}

/// Creates entries that are no plain files.
fn strange(directory: &Path, prefix: &str) {
    let path = |name: &str| directory.join(format!("{prefix}{name}.json"));
    symlink("/etc/passwd", path("passwd")).unwrap();
    symlink("../../../../precious", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::create_dir_all(path("directory").join("below")).unwrap();
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    fs::write(path("secret"), json!({"id": "other"}).to_string()).unwrap();
}

fn prefix(place: &str) -> &'static str {
    match place {
        "queue/events/pending" => "evt-",
        "queue/tasks/pending" => "task-20260207-",
        _ => "msg-20260207-",
    }
}
