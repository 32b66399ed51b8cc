//! Hostile text in every field of every kind of file, and hostile files: they are refused or carried, never obeyed (C23).

mod answers;
mod files;
mod words;

use muster_tests::{Court, SLACK_TOKEN, Slack, until};
use serde_json::{Value, json};
use std::fs;

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
            .soldier("answer", answers::ANSWER);
        fs::create_dir(court.path("seen")).unwrap();
        fs::write(court.path("../precious"), PRECIOUS).unwrap();
        court.start(&["run"]);
        Self { court, slack }
    }

    /// Waits until nothing is under way.
    fn settle(&self) {
        for place in [
            "queue/events/pending",
            "queue/events/dispatched",
            "queue/tasks/pending",
            "queue/tasks/in_progress",
            "queue/messages/pending",
        ] {
            until(&format!("{place} is empty"), || self.court.names(place).is_empty().then_some(()));
        }
    }

    /// What a soldier found in its task's file, of the task that an event became.
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
            for text in [&said.stdout, &said.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            {
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
        match said.status.code() {
            Some(0) => assert!(holds(&target.seen(&id), raw.as_bytes())),
            Some(4) => assert!(!said.stderr.is_empty() && number >= words::TEXTS.len(), "{raw}"),
            other => panic!("{other:?} for {raw:.100}: {}", String::from_utf8_lossy(&said.stderr)),
        }
    }
    for bytes in words::wrong_files() {
        assert_eq!(target.court.output_with(&["emit"], &bytes).status.code(), Some(4));
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
const PRECIOUS: &[u8] = b"not to be touched";
