//! `cargo xtask rules`: which rules of the contracts have a test.

mod scan;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use crate::failure::Failure;
use crate::options;
use crate::source::{self, Source};
use table::Rule;

/// Refuses a tree in which a required rule has no test.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let verbose = options::flag(arguments, "--verbose")?;
    let coverage = Coverage::of(&source::rust_files()?);
    for warning in coverage.unknown() {
        println!("warning: {warning}");
    }
    if verbose {
        // Whoever reads only the head of the list has seen enough.
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
        let required = table::rules().filter(|rule| rule.required());
        required.filter(|rule| self.tests(rule.id).is_empty()).map(|rule| rule.id).collect()
    }

    fn unknown(&self) -> Vec<String> {
        let strangers = self.0.iter().filter(|(id, _)| !table::is_known(id));
        strangers.map(|(id, tests)| format!("{id} is no rule, named by {}", tests.join(", "))).collect()
    }

    fn summary(&self) -> String {
        let count = |required: bool| {
            let of_kind: Vec<Rule> = table::rules().filter(|rule| rule.required() == required).collect();
            let tested = of_kind.iter().filter(|rule| !self.tests(rule.id).is_empty()).count();
            format!("{tested} of {}", of_kind.len())
        };
        format!("{} required rules have a test, {} later ones", count(true), count(false))
    }

    fn listing(&self) -> String {
        let mut text = String::new();
        for rule in table::rules() {
            let demand = if rule.required() { "required" } else { "later" };
            let _ = writeln!(text, "{:<5} {demand}, {}", rule.id, rule.step.name);
            for test in self.tests(rule.id) {
                let _ = writeln!(text, "        {test}");
            }
        }
        text
    }
}

/// What `cargo xtask rules --help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask rules [--verbose]

Looks for rule ids (N1, Q10, N6b …) in the `///` comments of test functions and refuses a tree in which a
required rule has none. An `#[ignore]`d test does not count. Which rules are required stands in
xtask/src/rules/table.rs. --verbose lists every rule with its tests.";

#[cfg(test)]
mod tests {
    use super::*;

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
        for rule in table::rules() {
            assert_eq!(missing.contains(&rule.id), rule.required(), "{}", rule.id);
        }
    }

    #[test]
    fn an_id_that_no_contract_has_is_reported() {
        assert_eq!(coverage("/// Q99\n#[test]\nfn f() {}\n").unknown(), ["Q99 is no rule, named by a.rs: f"]);
        assert!(coverage("/// S5b\n#[test]\nfn f() {}\n").unknown().is_empty());
    }
}
