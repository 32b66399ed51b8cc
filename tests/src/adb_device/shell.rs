//! The shell of the device: just enough of one to show what it was really told to run.

use super::Shared;

/// What a script printed, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// What it printed, in order: `STDOUT` or `STDERR`, and the bytes.
    pub(super) printed: Vec<(u8, Vec<u8>)>,
    pub(super) code: u8,
    /// It runs until somebody closes it.
    pub(super) is_endless: bool,
}

impl Output {
    fn print(&mut self, to: u8, bytes: impl Into<Vec<u8>>) {
        self.printed.push((to, bytes.into()));
    }
}

/// Runs a script: words, quotes, `$?`, and several commands in a row.
pub(super) fn run(device: &Shared, script: &str) -> Output {
    let mut output = Output::default();
    let mut rest = script.chars().peekable();
    while rest.peek().is_some() && !output.is_endless {
        let words = words(&mut rest, output.code);
        if !words.is_empty() {
            execute(device, &words, &mut output);
        }
    }
    output
}

/// The words up to the end of a command. What a shell would expand and nobody here knows becomes nothing.
fn words(rest: &mut impl Iterator<Item = char>, code: u8) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    while let Some(character) = rest.next() {
        match character {
            ';' | '&' | '|' | '\n' => break,
            ' ' | '\t' => words.extend(word.take()),
            '\'' => word.get_or_insert_default().extend(rest.by_ref().take_while(|next| *next != '\'')),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '$' => match rest.next() {
                Some('?') => word.get_or_insert_default().push_str(&code.to_string()),
                _ => drop(word.get_or_insert_default()),
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

fn execute(device: &Shared, words: &[String], output: &mut Output) {
    device.ran.lock().unwrap().push(words.to_vec());
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    output.code = 0;
    match plain.as_slice() {
        ["getprop", name] => {
            let value = device.props.lock().unwrap().get(*name).cloned().unwrap_or_default();
            output.print(STDOUT, format!("{value}\n"));
        }
        ["echo", said @ ..] => output.print(STDOUT, format!("{}\n", said.join(" "))),
        ["input" | "am", ..] => {}
        ["screencap", "-p"] => output.print(STDOUT, device.screen.lock().unwrap().clone()),
        ["sleep", "forever"] => output.is_endless = true,
        ["cat", path] => {
            output.print(STDERR, format!("cat: {path}: No such file or directory\n"));
            output.code = 1;
        }
        ["exit", code] => output.code = code.parse().unwrap(),
        _ => {
            output.print(STDERR, format!("sh: {}: not found\n", plain[0]));
            output.code = 127;
        }
    }
}

/// As the second shell protocol numbers them.
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
