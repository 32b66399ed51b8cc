//! The ten slowest tests, printed after a run of nextest.

use std::fs;
use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// One test of a report: its duration in seconds, its binary and its name.
#[derive(Debug, PartialEq)]
struct TimedTest {
    seconds: f64,
    binary: String,
    name: String,
}

/// Runs nextest to its end, then prints the ten slowest tests of its JUnit report, also after a failure.
pub(crate) fn named_after(nextest: &mut Command) -> Result<(), Failure> {
    let report = process::target_directory()?.join(REPORT);
    // A report of an earlier run would be taken for one of this run.
    let _ = fs::remove_file(&report);
    let outcome = process::run(nextest);
    if let Ok(text) = fs::read_to_string(report) {
        println!("the slowest tests:");
        for test in slowest(&text) {
            println!("{:>8.1} s  {} {}", test.seconds, test.binary, test.name);
        }
    }
    outcome
}

fn slowest(report: &str) -> Vec<TimedTest> {
    let mut tests: Vec<TimedTest> = report.split("<testcase ").skip(1).filter_map(read).collect();
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    tests.truncate(SHOWN_MAX);
    tests
}

/// Reads the attributes of one `<testcase name="…" classname="…" … time="…">`.
fn read(element: &str) -> Option<TimedTest> {
    let tag = element.split('>').next()?;
    let attribute = |name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        rest.split('"').next()
    };
    // The attribute `classname` ends with `name`, too: nextest writes `name` first.
    let (name, binary) = (attribute("name")?.to_owned(), attribute("classname")?.to_owned());
    Some(TimedTest { seconds: attribute(" time")?.parse().ok()?, binary, name })
}

/// Path of nextest's report below the target directory; `.config/nextest.toml` names the file.
const REPORT: &str = "nextest/default/junit.xml";

const SHOWN_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_come_first() {
        let case = |n: u32| {
            format!(
                "<testcase name=\"case::{n}\" classname=\"muster-tests::kill\" timestamp=\"x\" time=\"{n}.500\">\n</testcase>"
            )
        };
        let report: String = (1..=12).map(case).collect();
        let found = slowest(&format!("<testsuites time=\"99\"><testsuite>{report}</testsuite></testsuites>"));
        assert_eq!(found.len(), 10);
        let first = TimedTest { seconds: 12.5, binary: "muster-tests::kill".into(), name: "case::12".into() };
        assert_eq!((&found[0], found[9].seconds), (&first, 3.5));
    }
}
