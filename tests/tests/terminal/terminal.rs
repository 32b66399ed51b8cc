//! A program on a terminal of its own.

use muster_tests::{Server, muster_command};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdout, Command, Stdio},
};

/// `muster …` on a terminal; ended with the value.
pub(crate) struct Terminal {
    driver: Child,
    answers: BufReader<ChildStdout>,
}

/// How a program left its terminal.
pub(crate) struct Left {
    pub(crate) code: i64,
    /// The terminal is as it was before.
    pub(crate) is_restored: bool,
    /// It used colours while it ran.
    pub(crate) has_colours: bool,
}

impl Terminal {
    /// Starts a command as an operator of a server.
    pub(crate) fn open(server: &Server, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let muster = muster_command();
        let mut command = Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/terminal/drive.py"));
        command
            .arg(muster.get_program())
            .args(arguments)
            .env_remove("NO_COLOR")
            .env("TERM", "xterm-256color");
        for (name, _) in muster.get_envs() {
            command.env_remove(name);
        }
        command.env("MUSTER_SERVER", server.anonymous().url()).env("MUSTER_TOKEN", server.admin_token());
        command.env("HOME", server.data()).envs(environment.iter().copied());
        let mut driver = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(driver.stdout.take().unwrap());
        Self { driver, answers }
    }

    /// Waits until a text is on the screen.
    pub(crate) fn see(&mut self, text: &str) {
        self.tell(&format!("see {text}"));
    }

    /// Waits until a text is not on the screen.
    pub(crate) fn miss(&mut self, text: &str) {
        self.tell(&format!("miss {text}"));
    }

    /// Presses keys, one after the other.
    pub(crate) fn press(&mut self, keys: &str) {
        self.tell(&format!("press {}", json!(keys)));
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&mut self, name: &str) {
        self.tell(&format!("signal {name}"));
    }

    /// Waits until the program has ended.
    pub(crate) fn end(&mut self) -> Left {
        let answer = self.tell("end");
        Left {
            code: answer["code"].as_i64().unwrap(),
            is_restored: answer["restored"] == true,
            has_colours: answer["colours"] == true,
        }
    }

    fn tell(&mut self, line: &str) -> Value {
        writeln!(self.driver.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let screen = answer["screen"].as_str().unwrap_or_default();
        assert_eq!(answer["ok"], true, "{line}: it does not come; the screen is\n{screen}");
        answer
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.driver.stdin.take());
        let _ = self.driver.wait();
    }
}
