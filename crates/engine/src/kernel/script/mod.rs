//! Little scripts that read like the contract.
//!
//! A line is `TIME COMMAND [-> EVENTS] [~> EFFECTS] [=> REPLY]`. Each domain has verbs of its own (`devices`, `frames`)
//! and says what its commands mean and how its events and replies read. After every line all invariants are checked.

mod stage;

pub(crate) use stage::{Stage, worker_key};

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use muster_model::{Digest, Millis, Name, Settings, Timestamp};

/// The verbs of one domain.
pub(crate) trait Verbs {
    /// Does what a line says, and tells what came of it.
    fn play(&mut self, stage: &mut Stage, words: &[&str]) -> Played;
}

/// Outcome of a line, in the words of scripts.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) events: String,
    pub(crate) effects: String,
    pub(crate) reply: String,
}

impl Played {
    /// The answer to a question, which changes nothing.
    pub(crate) fn answer(reply: String) -> Self {
        Self { reply, ..Self::default() }
    }
}

/// Runs a script.
pub(crate) fn run(mut verbs: impl Verbs, settings: Settings, script: &str) {
    let mut stage = Stage::new(settings);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (rest, reply) = cut(line, "=>");
        let (rest, effects) = cut(rest, "~>");
        let (rest, events) = cut(rest, "->");
        let mut words = rest.split_whitespace();
        stage.now = time(words.next().expect("a line begins with a time"));
        let played = verbs.play(&mut stage, &words.collect::<Vec<_>>());
        let parts = [
            ("events", events, played.events),
            ("effects", effects, played.effects),
            ("reply", reply, played.reply),
        ];
        for (part, expected, found) in parts {
            if let Some(expected) = expected {
                assert_eq!(found, expected, "{part} of `{line}`");
            }
        }
        stage.engine.check_invariants().unwrap_or_else(|broken| panic!("after `{line}`: {broken}"));
    }
}

fn cut<'l>(line: &'l str, mark: &str) -> (&'l str, Option<&'l str>) {
    line.split_once(mark).map_or((line, None), |(rest, part)| (rest, Some(part.trim())))
}

pub(crate) fn time(text: &str) -> Timestamp {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic()).expect("a time has a unit"));
    let number: i64 = number.parse().expect("a time is a number");
    Timestamp(match unit {
        "ms" => number,
        "s" => number * 1000,
        "m" => number * 60_000,
        "d" => number * 86_400_000,
        _ => panic!("no unit of time: {unit}"),
    })
}

pub(crate) fn millis(text: &str) -> Millis {
    Millis(time(text).0)
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// A digest that stands for a body.
pub(crate) fn digest(text: &str) -> Digest {
    Digest(text.bytes().fold(7, |sum: u128, byte| sum.wrapping_mul(31).wrapping_add(u128::from(byte))))
}

/// The words `key=value` of a line.
pub(crate) struct Options<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Options<'a> {
    pub(crate) fn of(words: &[&'a str]) -> Self {
        Self(words.iter().filter_map(|word| word.split_once('=')).collect())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    pub(crate) fn number(&self, key: &str) -> Option<u32> {
        self.get(key).map(|text| text.parse().expect("a number"))
    }
}
