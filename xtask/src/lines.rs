//! `cargo xtask lines`: how large each crate is.

use crate::{
    code::{balanced_length, is_name_char, mask},
    failure::{self, Failure},
    sizes::{is_test_file, trailing_tests_start},
    source::{self, Source},
};
use std::{collections::BTreeMap, path::Path};

/// Prints files, lines and tuple parameters per crate, and their sums.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    failure::none(arguments)?;
    let mut crates: BTreeMap<String, Size> = BTreeMap::new();
    let mut tuples = Vec::new();
    for source in source::rust_files()? {
        crates.entry(crate_of(&source.path)).or_default().add(&Size::of(&source));
        tuples.extend(tuple_parameters(&source));
    }
    println!(
        "{:<28} {:>6} {:>11} {:>9} {:>9} {:>9}",
        "crate", "files", "production", "tests", "tools", "all"
    );
    let mut total = Size::default();
    for (name, size) in &crates {
        print_row(name, size);
        total.add(size);
    }
    print_row("all", &total);
    println!("\n{} functions take an anonymous tuple", tuples.len());
    tuples.iter().for_each(|place| println!("  {place}"));
    Ok(())
}

/// Refuses functions that take an anonymous tuple.
pub(crate) fn refuse_tuples() -> Result<(), Failure> {
    let tuples: Vec<String> = source::rust_files()?.iter().flat_map(tuple_parameters).collect();
    if tuples.is_empty() { Ok(()) } else { Err(Failure::Refused(tuples.join("\n"))) }
}

fn print_row(name: &str, size: &Size) {
    let Size { files, production, tests, tools } = size;
    let all = production + tests + tools;
    println!("{name:<28} {files:>6} {production:>11} {tests:>9} {tools:>9} {all:>9}");
}

/// Files and lines of a crate.
#[derive(Default)]
struct Size {
    files: usize,
    production: usize,
    tests: usize,
    /// Simulator, demo, benchmarks and chores.
    tools: usize,
}

impl Size {
    fn of(source: &Source) -> Self {
        let all = source.text.lines().count();
        let tests_start = trailing_tests_start(&mask(&source.text));
        let code =
            tests_start.and_then(|start| source.text.get(..start)).map_or(all, |code| code.lines().count());
        let code = if is_test(&source.path) { 0 } else { code };
        let (production, tools) = if is_tool(&source.path) { (0, code) } else { (code, 0) };
        Self { files: 1, production, tests: all - code, tools }
    }

    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.production += other.production;
        self.tests += other.tests;
        self.tools += other.tools;
    }
}

fn is_test(path: &Path) -> bool {
    let is_beside_code = path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("_tests"));
    is_beside_code || is_test_file(path) || TEST_PATHS.iter().any(|tests| path.starts_with(tests))
}

fn is_tool(path: &Path) -> bool {
    TOOL_PATHS.iter().any(|tools| path.starts_with(tools))
}

/// The directory of the crate that a file belongs to: everything before `src`, `tests`, `examples` or a build script.
fn crate_of(path: &Path) -> String {
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let end = names.iter().skip(1).position(|name| CRATE_PARTS.contains(&name.as_str()));
    names[..end.map_or(1, |end| end + 1)].join("/")
}

/// Names the functions that have a parameter whose type is a tuple.
fn tuple_parameters(source: &Source) -> Vec<String> {
    let masked = mask(&source.text);
    let functions = masked.match_indices("fn ").filter(|(at, _)| {
        masked.get(..*at).is_some_and(|before| !before.ends_with(is_name_char) && !in_comment(before))
    });
    let described = functions.filter_map(|(at, word)| {
        let after = masked.get(at + word.len()..)?;
        let name = after.split(|found| !is_name_char(found)).next().filter(|name| !name.is_empty())?;
        let parameters = after.get(parameters_start(after)?..)?;
        let parameters = parameters.get(1..balanced_length(parameters, '(', ')').checked_sub(1)?)?;
        let line = masked.get(..at)?.lines().count().max(1);
        has_tuple(parameters).then(|| format!("{}:{line} {name}", source.path.display()))
    });
    described.collect()
}

fn in_comment(before: &str) -> bool {
    before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with("//"))
}

/// Finds the parenthesis of the parameters; generic arguments may have parentheses of their own.
fn parameters_start(after: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut previous = ' ';
    for (at, found) in after.char_indices() {
        match found {
            '<' => depth += 1,
            '>' if previous != '-' => depth -= 1,
            '(' if depth == 0 => return Some(at),
            ';' | '{' => return None,
            _ => {}
        }
        previous = found;
    }
    None
}

/// Looks for a parameter, at the top level of a list, whose type begins with a parenthesis; `&(dyn A + B)` does not count.
fn has_tuple(parameters: &str) -> bool {
    let parameters = parameters.replace("(dyn ", "<dyn ").replace("(impl ", "<impl ");
    let mut depth = 0_i32;
    let mut is_type = false;
    for found in parameters.chars() {
        match found {
            '(' if depth == 0 && is_type => return true,
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => is_type = false,
            ':' if depth == 0 => is_type = true,
            '&' | ' ' | '\n' => {}
            _ => is_type = false,
        }
    }
    false
}

/// Output of `cargo xtask lines --help`.
pub(crate) const HELP: &str = "\
usage: cargo xtask lines

Prints files and lines of Rust per crate. Tests are `#[cfg(test)] mod tests` at a file's end, `tests.rs`, `*_tests.rs`,
whatever lies under a directory `tests`, and the stores' conformance suite. Tools are the simulator, the demo, the
benchmarks and xtask. Lists the functions that take an anonymous tuple.";

const CRATE_PARTS: &[&str] = &["src", "tests", "examples", "build.rs"];

/// Code that exists for tests only.
const TEST_PATHS: &[&str] = &["tests", "crates/pg-harness", "crates/store/src/conformance"];

const TOOL_PATHS: &[&str] = &["bench", "crates/faultsim", "crates/muster/src/command/demo", "xtask"];

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_file_belongs_to_its_crate() {
        for (path, name) in [
            ("crates/engine/src/rule/retry.rs", "crates/engine"),
            ("crates/routes/pool/tests/http/main.rs", "crates/routes/pool"),
            ("tests/tests/devices/main.rs", "tests"),
            ("tests/src/lib.rs", "tests"),
            ("xtask/src/main.rs", "xtask"),
            ("crates/dashboard/build.rs", "crates/dashboard"),
        ] {
            assert_eq!(crate_of(Path::new(path)), name);
        }
    }

    #[test]
    fn tests_are_counted_apart() {
        let size = Size::of(&source("crates/a/src/b.rs", "a\nb\n#[cfg(test)]\nmod tests {\n}\n"));
        assert_eq!((size.production, size.tests), (2, 3));
        let size = Size::of(&source("crates/a/tests/b.rs", "a\nb\n"));
        assert_eq!((size.production, size.tests), (0, 2));
        let size = Size::of(&source("bench/src/b.rs", "a\nb\n#[cfg(test)]\nmod tests {\n}\n"));
        assert_eq!((size.production, size.tests, size.tools), (0, 3, 2));
    }

    #[test]
    fn tuple_parameters_are_found() {
        let count = |text: &str| tuple_parameters(&source("a.rs", text)).len();
        assert_eq!(count("fn f(a: u8, (b, c): (u8, u8)) {}"), 1);
        assert_eq!(count("/// Adds.\nfn f((b, c): (u8, u8)) {}"), 1);
        assert_eq!(count("fn f<F: Fn(u8) -> u8>(\n    a: F,\n    b: &(u8, u8),\n) {}"), 1);
        for text in [
            "fn f(a: u8, b: &[(u8, u8)]) {}",
            "fn f(a: impl Fn(u8) -> (u8, u8)) -> (u8, u8) {}",
            "/// fn f(a: (u8, u8))\nfn f(a: Vec<(u8, u8)>) {}",
            "let f = |a: (u8, u8)| a;",
            "fn f(a: &(dyn Any + Send)) {}",
        ] {
            assert_eq!(count(text), 0, "{text}");
        }
    }
}
