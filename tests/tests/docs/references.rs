//! Commands, settings and links in all pages exist.

use crate::{Page, all_pages, root};
use muster_tests::muster_command;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// I3, I4: every `muster …` that any page shows, in a block or in a sentence, names subcommands that there are, and
/// flags that they know.
#[test]
fn no_command_is_stale() {
    let mut manual = Manual::default();
    let mut stale = Vec::new();
    let mut seen = 0;
    for path in all_pages().into_iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        for (line, words) in commands_in(&Page::read(&path)) {
            seen += 1;
            if let Err(why) = manual.check(&words) {
                stale.push(format!("{}:{line}: `muster {}`: {why}", path.display(), words.join(" ")));
            }
        }
    }
    assert!(seen > 100, "only {seen} commands were found");
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

/// Help pages of the binary, each requested once.
#[derive(Default)]
struct Manual {
    pages: BTreeMap<Vec<String>, String>,
}

impl Manual {
    fn check(&mut self, words: &[String]) -> Result<(), String> {
        let mut path: Vec<String> = Vec::new();
        let mut flags = Vec::new();
        for word in words {
            let subcommands = self.subcommands(&path);
            if word.starts_with('-') {
                flags.push(word.split('=').next().unwrap().to_owned());
            } else if subcommands.iter().any(|known| known == word) {
                path.push(word.clone());
            } else if flags.is_empty() && !subcommands.is_empty() && is_plain(word) {
                return Err(format!("there is no {word:?} in it"));
            }
            if word == "--exec" {
                break;
            }
        }
        let page = self.page(&path);
        let knows = |flag: &String| page.split([' ', ',', '\n', '.', '=']).any(|known| known == flag);
        flags.iter().find(|flag| !knows(flag)).map_or(Ok(()), |flag| Err(format!("it has no {flag}")))
    }

    fn subcommands(&mut self, path: &[String]) -> Vec<String> {
        let listed = self.page(path).lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        listed.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    }

    fn page(&mut self, path: &[String]) -> &str {
        let ask = || {
            let output = muster_command().args(path).arg("--help").output().unwrap();
            assert!(output.status.success(), "muster {path:?} --help: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        self.pages.entry(path.to_owned()).or_insert_with(ask)
    }
}

/// The commands of a page, each as the words after `muster`, with alternatives (`run|session`) told apart.
fn commands_in(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut commands = Vec::new();
    for block in page.blocks.iter().filter(|block| block.info.starts_with("sh") || block.info == "console") {
        let lines = block.text.replace("\\\n", " ");
        for line in
            lines.lines().map(|line| line.trim_start_matches("$ ")).filter(|line| !line.starts_with('#'))
        {
            commands.extend(commands_of(line).map(|words| (block.line, words)));
        }
    }
    for (line, span) in page.code_spans().iter().filter(|(_, span)| span.starts_with("muster ")) {
        let words: Vec<&str> = span.split_whitespace().skip(1).collect();
        let at = words.iter().position(|word| word.contains('|') && is_plain(&word.replace('|', "")));
        let choices = at.map_or_else(|| vec![""], |at| words[at].split('|').collect());
        for choice in choices {
            let pick =
                |(index, word): (usize, &&str)| if Some(index) == at { choice } else { *word }.to_owned();
            commands.push((*line, words.iter().enumerate().map(pick).collect()));
        }
    }
    for (_, words) in &mut commands {
        words.iter_mut().for_each(|word| *word = word.trim_matches(['[', ']']).to_owned());
    }
    commands
}

/// The commands of a line: whatever follows `muster` as the first word of a command, up to its end.
fn commands_of(line: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    let pieces = line.split(['|', ';', '&', '(', ')', '`']);
    pieces.filter_map(|piece| {
        let mut words = piece.split_whitespace().skip_while(|word| is_setting_a_variable(word));
        let is_ours = words.next().is_some_and(|word| word.trim_start_matches('"') == "muster");
        is_ours
            .then(|| words.take_while(|word| !word.starts_with(['>', '<', '#'])).map(str::to_owned).collect())
    })
}

fn is_setting_a_variable(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_'))
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

/// I3: what is stale is found, and what only looks like it is not.
#[test]
fn stale_commands_are_found() {
    let mut manual = Manual::default();
    let mut check = |line: &str| manual.check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(check("run submit --workflow w --wait"), Ok(()));
    assert_eq!(check("sim-worker --id W1 --exec python3 --mine"), Ok(()));
    assert!(check("run submit --workflw w").is_err());
    assert!(check("run sumbit").is_err());
    let words = commands_of("X=1 muster run list | muster canonical > f").collect::<Vec<_>>();
    assert_eq!(words, [vec!["run", "list"], vec!["canonical"]]);
}

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

/// Endings after a dot that make a word a file, as in `leadership.rs`, and not a key.
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
