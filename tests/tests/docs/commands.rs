//! Commands in pages are commands of the binary: I3.

use crate::{all_pages, markdown::Page};
use muster_tests::muster_command;
use std::collections::BTreeMap;

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

/// What the binary says of itself, asked for once each.
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
