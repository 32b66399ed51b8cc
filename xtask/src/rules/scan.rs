//! Finds the tests whose documentation names rules.

use crate::code::{balanced_length, is_name_char, mask};

/// A test function and the rules its `///` comment names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RuleTest {
    pub(super) name: String,
    pub(super) rules: Vec<String>,
}

/// Lists the tests of a Rust file that name at least one rule.
pub(super) fn rule_tests(text: &str) -> Vec<RuleTest> {
    let masked = mask(text);
    let mut found = Vec::new();
    let mut above = Preamble::default();
    let mut rest = masked.trim_start();
    while !rest.is_empty() {
        let (taken, after) = rest.split_at(piece_length(rest));
        if taken.starts_with("///") {
            above.docs.push(taken);
        } else if taken.starts_with("#[") {
            above.attributes.push(taken);
        } else {
            found.extend(above.test_in(taken));
            above = Preamble::default();
        }
        rest = after.trim_start();
    }
    found
}

/// Says whether a word has the form of a rule id: a contract's letter, a number, perhaps a `b` or a `c`.
pub(super) fn is_rule_id(word: &str) -> bool {
    let Some(tail) = word.strip_prefix(['N', 'Q', 'S', 'C', 'P', 'I', 'V']) else {
        return false;
    };
    let digits = tail.strip_suffix(['b', 'c']).unwrap_or(tail);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Measures an attribute to its closing bracket, anything else to the end of its line.
fn piece_length(rest: &str) -> usize {
    if rest.starts_with("#[") {
        balanced_length(rest, '[', ']')
    } else {
        rest.find('\n').unwrap_or(rest.len())
    }
}

/// Lines between two items: the documentation and attributes of the second.
#[derive(Default)]
struct Preamble<'a> {
    docs: Vec<&'a str>,
    attributes: Vec<&'a str>,
}

impl Preamble<'_> {
    /// Reads `line` as the head of the item below; only a test that runs proves a rule.
    fn test_in(&self, line: &str) -> Option<RuleTest> {
        let runs = self.has_attribute(is_test) && !self.has_attribute(|name| name == "ignore");
        let rules = self.rules();
        let name = function_name(line)?;
        (runs && !rules.is_empty()).then_some(RuleTest { name, rules })
    }

    fn has_attribute(&self, wanted: fn(&str) -> bool) -> bool {
        self.attributes.iter().any(|attribute| wanted(attribute_name(attribute)))
    }

    fn rules(&self) -> Vec<String> {
        let words = self.docs.iter().flat_map(|doc| doc.split(|found| !is_name_char(found)));
        let mut rules: Vec<String> = words.filter(|word| is_rule_id(word)).map(String::from).collect();
        rules.sort();
        rules.dedup();
        rules
    }
}

/// Takes `test` from `#[tokio::test(flavor = "…")]`.
fn attribute_name(attribute: &str) -> &str {
    let path = attribute.trim_start_matches("#[").trim_start();
    let end = path.find(|found| !is_name_char(found) && found != ':').unwrap_or(path.len());
    path.split_at(end).0.rsplit(':').next().unwrap_or_default()
}

fn is_test(attribute_name: &str) -> bool {
    matches!(attribute_name, "test" | "test_case" | "rstest")
}

fn function_name(line: &str) -> Option<String> {
    let mut words = line.split(|found| !is_name_char(found)).filter(|word| !word.is_empty());
    words.find(|word| *word == "fn")?;
    words.next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        rule_tests(text).into_iter().map(|test| format!("{} {}", test.name, test.rules.join(" "))).collect()
    }

    #[test]
    fn every_id_of_the_comment_counts() {
        assert_eq!(found("/// Q9, Q10\n#[test]\nfn f() {}\n"), ["f Q10 Q9"]);
        assert_eq!(found("/// N1b: a tale\n/// (and of N2).\n#[test]\nfn f() {}\n"), ["f N1b N2"]);
    }

    #[test]
    fn an_id_is_a_whole_word() {
        for word in ["Q", "Qb", "Q9d", "XQ9", "Q9_a", "q9", "T1"] {
            let text = format!("/// {word}\n#[test]\nfn f() {{}}\n");
            assert!(found(&text).is_empty(), "{word}");
        }
    }

    #[test]
    fn any_kind_of_test_attribute_will_do() {
        for attribute in [
            "#[test]",
            "#[tokio::test]",
            "#[tokio::test(flavor = \"current_thread\")]",
            "#[test_case(1; \"one\")]",
            "#[test_case(\n    &[1, 2],\n    \"]\",\n)]",
            "#[should_panic]\n#[test]",
            "#[test]\n#[expect(clippy::too_many_lines)]",
        ] {
            let text = format!("    /// N3\n{attribute}\n    async fn f() {{}}\n");
            assert_eq!(found(&text), ["f N3"], "{attribute}");
        }
        assert_eq!(found("#[test]\n/// N3\nfn f() {}\n"), ["f N3"]);
        assert_eq!(found("/// N3\n#[test] fn f() {}\n"), ["f N3"]);
    }

    #[test]
    fn what_is_not_a_test_does_not_count() {
        assert!(found("/// N3\nfn f() {}\n").is_empty());
        assert!(found("/// N3\n#[cfg(test)]\nmod tests {\n").is_empty());
        assert!(found("/// N3\nstruct A;\n#[test]\nfn f() {}\n").is_empty());
        assert!(found("// N3\n#[test]\nfn f() {}\n").is_empty());
        assert!(found("//! N3\n#[test]\nfn f() {}\n").is_empty());
    }

    #[test]
    fn a_test_that_does_not_run_does_not_count() {
        assert!(found("/// N3\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n").is_empty());
        assert!(found("/*\n/// N3\n#[test]\nfn f() {}\n*/\n").is_empty());
        assert!(found("const A: &str = \"\n/// N3\n#[test]\nfn f() {}\n\";\n").is_empty());
    }
}
