//! A court with three generals, its Slack, and whoever hands in events and kills it.

use crate::soldier;
use muster_tests::{Court, Dice, SLACK_TOKEN, Slack, until};
use serde_json::{Value, json};
use std::{collections::BTreeSet, io::Write, process::Stdio, thread, time::Duration};

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
        court = court.soldier("soldier", soldier::SCRIPT);
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
