//! Thousands of events while the court is killed, as a whole and role by role; and nothing may be missing or twice.
//!
//! `MUSTER_EVENTS` says how many events (300); there is a kill for every fifty, ten at least. `MUSTER_SEED` says which chance.

mod check;

use muster_tests::{Court, Dice, SLACK_TOKEN, Slack, until};
use serde_json::{Value, json};
use std::{collections::BTreeSet, io::Write, process::Stdio, thread, time::Duration};

/// C2, C3, C4, C5, C6, C8, C9, C13, C14, C16, C18, C21: each event is exactly one task, one result and one message of
/// each kind that is due, and one post each unless the kill hit the post in flight; no file is in two states, none is
/// left over, and nothing is stuck.
#[test]
fn no_kill_loses_or_doubles_an_event() {
    let events: u64 = std::env::var("MUSTER_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
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
    check::all(&mut palace, events, kills);
    println!("{kills} kills: {}", check::summary(&palace, events));
}

/// Enough that every role always has something to do, and little enough that a kill is soon made good.
const BACKLOG_MAX: usize = 120;

pub(crate) struct Palace {
    pub(crate) court: Court,
    pub(crate) slack: Slack,
    /// How many events there are, and which are questions that were answered.
    handed_in: u64,
    pub(crate) answered: BTreeSet<String>,
    is_whole: bool,
}

impl Palace {
    pub(crate) fn open(dice: &mut Dice) -> Self {
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
    pub(crate) fn hand_in(&mut self, until: u64, dice: &mut Dice) {
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
    pub(crate) fn reply(&mut self) {
        for name in self.court.names("state/questions/open") {
            let Some(task) = name.strip_suffix(".json").filter(|task| !self.answered.contains(*task)) else {
                continue;
            };
            let said = self.court.output(&["reply", task, "to", "the", "left"]);
            // The king may have heard an answer between the look and this one.
            assert!(said.status.success(), "{task}: {}", String::from_utf8_lossy(&said.stderr));
            self.answered.insert(task.to_owned());
        }
    }

    /// Kills all of it, or one role, and starts it again; sometimes the next life is cut short, too.
    pub(crate) fn kill(&mut self, dice: &mut Dice) {
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
    pub(crate) fn work_off(&mut self, most: usize) {
        self.shrink(most, |court| {
            court.count("queue/events/pending") + court.count("queue/events/dispatched")
        });
    }

    /// Waits until all messages are posted.
    pub(crate) fn post_all(&mut self) {
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

    /// What soldiers wrote down.
    pub(crate) fn lines(&self) -> Vec<String> {
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
            eprintln!("{}", String::from_utf8_lossy(&said.stdout));
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
/// Where nothing lies at the end.
pub(crate) const OPEN: [&str; 7] = [
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
pub(crate) const SCRIPT: &str = r#"set -eu
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
