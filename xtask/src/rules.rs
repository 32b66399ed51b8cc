//! `cargo xtask rules`: which rules of the contracts have a test.

mod scan;

use crate::{
    failure::{self, Failure},
    source::{self, Source},
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
};

/// Refuses a tree in which a required rule has no test.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let verbose = failure::flag(arguments, "--verbose")?;
    let coverage = Coverage::of(&source::rust_files()?);
    for warning in coverage.unknown() {
        println!("warning: {warning}");
    }
    if verbose {
        // The reader may close the pipe after the head of the list; that is no error.
        let _ = io::stdout().write_all(coverage.listing().as_bytes());
    }
    let missing = coverage.missing();
    if missing.is_empty() {
        println!("{}", coverage.summary());
        return Ok(());
    }
    let text = format!("{}\nno test names these required rules: {}", coverage.summary(), missing.join(" "));
    Err(Failure::Refused(text))
}

/// The tests of each rule id that any test names, as `path: test`.
struct Coverage(BTreeMap<String, Vec<String>>);

impl Coverage {
    fn of(sources: &[Source]) -> Self {
        let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for source in sources {
            for test in scan::rule_tests(&source.text) {
                let place = format!("{}: {}", source.path.display(), test.name);
                for rule in test.rules {
                    tests.entry(rule).or_default().push(place.clone());
                }
            }
        }
        Self(tests)
    }

    fn tests(&self, rule: &str) -> &[String] {
        self.0.get(rule).map_or(&[], Vec::as_slice)
    }

    fn missing(&self) -> Vec<&'static str> {
        let required = rules().filter(|rule| rule.required());
        required.filter(|rule| self.tests(rule.id).is_empty()).map(|rule| rule.id).collect()
    }

    fn unknown(&self) -> Vec<String> {
        let strangers = self.0.iter().filter(|(id, _)| !is_known(id));
        strangers.map(|(id, tests)| format!("{id} is no rule, named by {}", tests.join(", "))).collect()
    }

    fn summary(&self) -> String {
        let count = |required: bool| {
            let of_kind: Vec<Rule> = rules().filter(|rule| rule.required() == required).collect();
            let tested = of_kind.iter().filter(|rule| !self.tests(rule.id).is_empty()).count();
            format!("{tested} of {}", of_kind.len())
        };
        format!("{} required rules have a test, {} later ones", count(true), count(false))
    }

    fn listing(&self) -> String {
        let mut text = String::new();
        for rule in rules() {
            let demand = if rule.required() { "required" } else { "later" };
            let _ = writeln!(text, "{:<5} {demand}, {}", rule.id, rule.step.name);
            for test in self.tests(rule.id) {
                let _ = writeln!(text, "        {test}");
            }
        }
        text
    }
}

/// Output of `cargo xtask rules --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask rules [--verbose]

Looks for rule ids (N1, Q10, N6b …) in the `///` comments of test functions and refuses a tree in which a
required rule has none. An `#[ignore]`d test does not count. Which rules are required stands in
xtask/src/rules/table.rs. --verbose lists every rule with its tests.";

/// A stretch of the project that makes a set of rules true.
struct Step {
    name: &'static str,
    /// True if its rules must have tests by now.
    reached: bool,
    /// The ids, separated by spaces.
    rules: &'static str,
}

/// One rule of a contract.
struct Rule {
    id: &'static str,
    step: &'static Step,
}

impl Rule {
    /// Says whether a tree without a test of this rule is refused.
    fn required(&self) -> bool {
        self.step.reached
    }
}

/// Lists every rule, step by step.
fn rules() -> impl Iterator<Item = Rule> {
    STEPS.iter().flat_map(|step| step.rules.split_whitespace().map(move |id| Rule { id, step }))
}

/// Says whether a contract has a rule of this id.
fn is_known(id: &str) -> bool {
    rules().any(|rule| rule.id == id)
}

const STEPS: &[Step] = &[
    Step {
        name: "nodes and operations",
        reached: true,
        rules: "N1 N1b N2 N3 N4 N5 N6 N6b N7 N8 N8b N9 N10 N11 N12 N13 N14 N15 N15b N16 N17 \
                Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q9 Q10 Q11 Q12 Q13 Q14 Q15 Q16 \
                I1 I4 I5 I6 I7 I8 I9 I10",
    },
    Step { name: "device agent", reached: true, rules: "N18 N19 N20 N21 N22 N22b N23 I11" },
    Step { name: "schedules", reached: true, rules: "Q17" },
    Step {
        name: "simulation",
        reached: true,
        rules: "S1 S2 S3 S4 S5 S5b S6 S7 S8 S9 S10 S11 S12 S13 S14 S15 S16 S17 S20 S21 S22 S23 S24 S25 S26 S27",
    },
    Step { name: "failover", reached: true, rules: "S18 S19" },
    Step {
        name: "court",
        reached: true,
        rules: "C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 C10 C11 C12 C13 C14 C15 C16 C16b C17 C18 C19 C20 C21 C22 C23",
    },
    Step {
        name: "pool",
        reached: true,
        rules: "P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20",
    },
    Step { name: "what the sources say", reached: true, rules: "N8c Q7b Q9b Q21" },
    Step { name: "sessions to the letter", reached: true, rules: "S8b S20b S23b S26b S26c" },
    Step { name: "batches of callbacks", reached: true, rules: "N25" },
    Step { name: "every contract in one binary", reached: true, rules: "I2 I3" },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::scan::is_rule_id;
    use std::collections::BTreeSet;

    fn coverage(text: &str) -> Coverage {
        Coverage::of(&[Source { path: "a.rs".into(), text: text.into() }])
    }

    #[test]
    fn a_rule_without_a_test_is_missing() {
        let coverage = coverage("/// N1, Q10\n#[test]\nfn f() {}\n");
        assert_eq!(coverage.tests("N1"), ["a.rs: f"]);
        assert!(!coverage.missing().contains(&"N1"));
        assert!(!coverage.missing().contains(&"Q10"));
        assert!(coverage.missing().contains(&"N1b"));
    }

    #[test]
    fn without_tests_exactly_the_required_rules_are_missing() {
        let missing = coverage("").missing();
        for rule in rules() {
            assert_eq!(missing.contains(&rule.id), rule.required(), "{}", rule.id);
        }
    }

    #[test]
    fn an_id_that_no_contract_has_is_reported() {
        assert_eq!(coverage("/// Q99\n#[test]\nfn f() {}\n").unknown(), ["Q99 is no rule, named by a.rs: f"]);
        assert!(coverage("/// S5b\n#[test]\nfn f() {}\n").unknown().is_empty());
    }

    #[test]
    fn no_rule_stands_in_two_steps() {
        let unique: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        assert_eq!(unique.len(), rules().count());
    }

    #[test]
    fn every_id_is_one_the_scanner_would_find() {
        for rule in rules() {
            assert!(is_rule_id(rule.id), "{}", rule.id);
        }
    }
}
