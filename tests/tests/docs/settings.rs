//! Settings and links in all pages exist.

use crate::{all_pages, markdown::Page, root};
use std::{collections::BTreeSet, path::Path};

/// I10: every setting that a page names, as `section.key` or as `MUSTER_SECTION__KEY`, is one of `default.toml`.
#[test]
fn settings_in_pages_exist() {
    let known = known();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in all_pages().into_iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        for (line, name) in named_in(&Page::read(&path), &known) {
            seen += 1;
            if !known.contains(&name) {
                wrong.push(format!("{}:{line}: there is no setting {name}", path.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} settings were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// I10: every setting of `default.toml` stands below a comment that says what it does.
#[test]
fn settings_are_explained() {
    let text = std::fs::read_to_string(root().join(DEFAULTS)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2).filter(|pair| is_assignment(pair[1])) {
        assert!(pair[0].starts_with("# "), "{DEFAULTS}: nothing explains {:?}", pair[1]);
    }
    assert!(lines.iter().filter(|line| is_assignment(line)).count() > 40);
}

/// The settings of `default.toml`, as `section.key`.
fn known() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(DEFAULTS)).unwrap();
    let mut section = "";
    let mut known = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if is_assignment(line) {
            known.insert(format!("{section}.{}", line.split(' ').next().unwrap()));
        }
    }
    known
}

fn named_in(page: &Page, known: &BTreeSet<String>) -> Vec<(usize, String)> {
    let sections: BTreeSet<&str> = known.iter().filter_map(|name| name.split('.').next()).collect();
    let spans = page.code_spans();
    let blocks = page.blocks.iter().map(|block| (block.line, block.text.clone()));
    let mut named = Vec::new();
    for (line, span) in spans.iter().cloned().chain(blocks) {
        let words = span.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        named.extend(words.filter_map(by_environment).map(|name| (line, name)));
    }
    let is_setting = |name: &str| {
        let (section, key) = name.split_once('.').unwrap_or(("", ""));
        let is_key = key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        sections.contains(section) && is_key && !NO_KEYS.contains(&key)
    };
    for (line, span) in spans {
        let name = span.split(' ').next().unwrap();
        named.extend(is_setting(name).then(|| (line, name.to_owned())));
    }
    named
}

/// `MUSTER_NODES__LEASE_S` is `nodes.lease_s`; names without `__` are no settings.
fn by_environment(word: &str) -> Option<String> {
    let (section, key) = word.strip_prefix("MUSTER_")?.split_once("__")?;
    (!section.is_empty() && !key.is_empty()).then(|| format!("{section}.{key}").to_lowercase())
}

fn is_assignment(line: &str) -> bool {
    line.starts_with(|letter: char| letter.is_ascii_lowercase()) && line.contains(" = ")
}

const DEFAULTS: &str = "crates/muster/default.toml";

/// What stands after a dot and makes a file of it, as in `leadership.rs`.
const NO_KEYS: [&str; 5] = ["", "rs", "md", "toml", "mjs"];

/// I3: every relative link of every page leads to something that is there, and every `#anchor` to a heading.
/// Addresses of others are not fetched.
#[test]
fn no_link_is_dead() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for path in all_pages() {
        let page = Page::read(&path);
        for (line, target) in page.links().into_iter().filter(|(_, target)| !is_elsewhere(target)) {
            seen += 1;
            if let Err(why) = follow(&page, &target) {
                dead.push(format!("{}:{line}: {target}: {why}", path.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} links were found");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

fn is_elsewhere(target: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

fn follow(page: &Page, target: &str) -> Result<(), &'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.path.clone() } else { page.path.with_file_name("").join(file) };
    if !root().join(&path).exists() {
        return Err("there is no such file");
    }
    if anchor.is_empty() || has_anchor(&path, anchor) { Ok(()) } else { Err("there is no such heading") }
}

fn has_anchor(path: &Path, anchor: &str) -> bool {
    let is_page = path.extension().is_some_and(|extension| extension == "md");
    is_page && Page::read(path).anchors().iter().any(|known| known == anchor)
}
