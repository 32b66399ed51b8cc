//! `cargo xtask sizes`: files that grew too long, and names that say nothing.

use crate::{
    code::{balanced_length, is_name_char, mask},
    failure::{self, Failure},
    source::{self, Source},
};
use std::path::Path;

/// Refuses oversized files and empty names; mentions the files that come close.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    failure::none(arguments)?;
    let sources = source::rust_files()?;
    for warning in sources.iter().filter_map(length_warning) {
        println!("warning: {warning}");
    }
    let refusals: Vec<String> = sources.iter().flat_map(refusals).collect();
    if refusals.is_empty() {
        println!("{} files, none too long, every name says something", sources.len());
        return Ok(());
    }
    Err(Failure::Refused(refusals.join("\n")))
}

fn length_warning(source: &Source) -> Option<String> {
    let lines = counted_lines(source);
    let close = lines > LINES_WARNED && lines <= LINES_MAX;
    close.then(|| format!("{}: {lines} lines; over {LINES_WARNED}, look again", source.path.display()))
}

fn refusals(source: &Source) -> Vec<String> {
    let path = source.path.display();
    let lines = counted_lines(source);
    let too_long =
        (lines > LINES_MAX).then(|| format!("{path}: {lines} lines; {LINES_MAX} is the most, split it"));
    let names = path_names(&source.path).into_iter().chain(inline_modules(&source.text));
    let nameless = names.filter(|name| says_nothing(name));
    too_long.into_iter().chain(nameless.map(|name| format!("{path}: `{name}` says nothing"))).collect()
}

/// Counts the lines that are held against a file: none of its tests.
fn counted_lines(source: &Source) -> usize {
    if is_test_file(&source.path) {
        return 0;
    }
    let end = trailing_tests_start(&mask(&source.text)).unwrap_or(source.text.len());
    source.text.get(..end).map_or(0, |counted| counted.trim_end().lines().count())
}

pub(crate) fn is_test_file(path: &Path) -> bool {
    path_names(path).iter().any(|name| name == "tests")
}

/// Finds where a `#[cfg(test)] mod tests {…}` begins that nothing follows.
pub(crate) fn trailing_tests_start(masked: &str) -> Option<usize> {
    masked.match_indices(TESTS_ATTRIBUTE).map(|(at, _)| at).find(|at| {
        let after = masked.get(at + TESTS_ATTRIBUTE.len()..).unwrap_or_default();
        let module = skip_attributes(after);
        let body = module.strip_prefix("mod tests").map(str::trim_start).filter(|body| body.starts_with('{'));
        body.is_some_and(|body| body.split_at(balanced_length(body, '{', '}')).1.trim().is_empty())
    })
}

fn skip_attributes(masked: &str) -> &str {
    let mut rest = masked.trim_start();
    while rest.starts_with("#[") {
        rest = rest.split_at(balanced_length(rest, '[', ']')).1.trim_start();
    }
    rest
}

fn path_names(path: &Path) -> Vec<String> {
    path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect()
}

/// Names the modules whose body stands in the file; the others have a path of their own.
fn inline_modules(text: &str) -> Vec<String> {
    let masked = mask(text);
    let lines = masked.lines().map(str::trim).filter(|line| !line.starts_with("///") && line.ends_with('{'));
    lines.filter_map(module_name).collect()
}

fn module_name(line: &str) -> Option<String> {
    let mut words = line.split(|found| !is_name_char(found)).filter(|word| !word.is_empty());
    words.find(|word| *word == "mod")?;
    words.next().map(String::from)
}

fn says_nothing(name: &str) -> bool {
    EMPTY_NAMES.contains(&name) || name.ends_with("_v2")
}

/// Output of `cargo xtask sizes --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask sizes

Refuses Rust files over 600 lines and mentions those over 400. A `#[cfg(test)] mod tests` at a file's
end, `tests.rs`, and whatever lies under a directory `tests` is not counted.
Refuses files, directories and modules called util, common, helper, manager, misc or *_v2.";

const LINES_WARNED: usize = 400;
const LINES_MAX: usize = 600;
const TESTS_ATTRIBUTE: &str = "#[cfg(test)]";
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc", "v2"];

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    fn counted(text: &str) -> usize {
        counted_lines(&source("crates/engine/src/state.rs", text))
    }

    #[test]
    fn a_trailing_tests_module_is_not_counted() {
        assert_eq!(counted("a\nb\n\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n"), 2);
        assert_eq!(counted("a\n#[cfg(test)]\n#[expect(dead_code)]\nmod tests {\n}\n"), 1);
    }

    #[test]
    fn braces_in_the_tests_strings_do_not_end_the_module() {
        assert_eq!(counted("a\n#[cfg(test)]\nmod tests {\n    const A: &str = \"\n}\n}\";\n}\n"), 1);
    }

    #[test]
    fn tests_before_code_are_counted() {
        assert_eq!(counted("a\n#[cfg(test)]\nmod tests {\n}\nfn f() {}\n"), 5);
        assert_eq!(counted("#[cfg(test)]\nfn f() {}\n"), 2);
    }

    #[test]
    fn an_inner_cfg_does_not_hide_the_module() {
        assert_eq!(counted("a\n#[cfg(test)]\nmod tests {\n    #[cfg(test)]\n    fn f() {}\n}\n"), 1);
    }

    #[test]
    fn length_is_refused_only_past_the_limit_and_only_outside_tests() {
        let long = |lines| "x\n".repeat(lines);
        assert!(refusals(&source("src/a.rs", &long(600))).is_empty());
        assert_eq!(refusals(&source("src/a.rs", &long(601))).len(), 1);
        for path in ["tests/kill.rs", "crates/a/tests/b/c.rs", "src/a/tests.rs"] {
            assert!(refusals(&source(path, &long(601))).is_empty(), "{path}");
        }
        assert!(length_warning(&source("src/a.rs", &long(400))).is_none());
        assert!(length_warning(&source("src/a.rs", &long(401))).is_some());
        assert!(length_warning(&source("src/a.rs", &long(601))).is_none());
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        for path in ["src/util.rs", "src/helpers/mod.rs", "tests/common/mod.rs", "src/wire_v2.rs"] {
            assert_eq!(refusals(&source(path, "")).len(), 1, "{path}");
        }
        assert_eq!(refusals(&source("src/a.rs", "pub(crate) mod misc {\n}\n")).len(), 1);
        assert!(refusals(&source("src/utility.rs", "// mod misc {\n/// mod misc {\n")).is_empty());
    }
}
