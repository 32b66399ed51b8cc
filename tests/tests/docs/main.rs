//! The documentation, executed: what a page tells people to type is typed, and what it says they see is looked for.
//!
//! The rules for pages that can be run are in `docs/workers/README.md`; [`shell`] runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod examples;
mod references;
mod shell;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every page of the repository, as paths from its root.
fn all_pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_ours = !name.starts_with('.') && !NOT_OURS.contains(&name.as_str());
            if is_ours && entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else if is_ours && name.ends_with(".md") {
                found.push(entry.path().strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(found.contains(&PathBuf::from("README.md")), "{found:?}");
    found
}

/// Directories that hold what others wrote, or what was built.
const NOT_OURS: [&str; 2] = ["target", "node_modules"];

/// A page, taken apart.
#[derive(Debug)]
pub(crate) struct Page {
    /// Path from the root of the repository.
    pub(crate) path: PathBuf,
    /// Fenced blocks.
    pub(crate) blocks: Vec<Block>,
    /// Everything else, as (number, line).
    pub(crate) prose: Vec<(usize, String)>,
}

/// Fenced block of a page.
#[derive(Debug)]
pub(crate) struct Block {
    /// The number of its first line.
    pub(crate) line: usize,
    /// The words after the fence, such as `sh background`.
    pub(crate) info: String,
    /// Its lines.
    pub(crate) text: String,
}

impl Page {
    /// Reads one, by its path from the root of the repository.
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        let mut page = Self { path: path.to_owned(), blocks: Vec::new(), prose: Vec::new() };
        let mut open = None;
        for (number, line) in (1..).zip(text.lines()) {
            page.take(&mut open, number, line);
        }
        assert!(open.is_none(), "{}: a fence is never closed", path.display());
        page
    }

    fn take(&mut self, open: &mut Option<Block>, number: usize, line: &str) {
        match (open.as_mut(), line.trim_start().strip_prefix("```")) {
            (Some(_), Some("")) => self.blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, Some(info)) => {
                *open = Some(Block { line: number + 1, info: info.trim().to_owned(), text: String::new() });
            }
            (None, None) => self.prose.push((number, line.to_owned())),
        }
    }

    /// The words that its headings can be reached by, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in &self.prose {
            let hashes = line.chars().take_while(|&letter| letter == '#').count();
            let Some(title) =
                line.get(hashes..).filter(|_| hashes > 0).and_then(|rest| rest.strip_prefix(' '))
            else {
                continue;
            };
            let anchor = anchor_of(title);
            let earlier = anchors.iter().filter(|&known| *known == anchor).count();
            anchors.push(if earlier == 0 { anchor } else { format!("{anchor}-{earlier}") });
        }
        anchors
    }

    /// Links of the page, as (line, target).
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in &self.prose {
            let plain = without_code(line);
            for piece in plain.split("](").skip(1) {
                links.push((*number, piece.split(')').next().unwrap().to_owned()));
            }
        }
        links
    }

    /// Code spans outside of blocks, as (line, words).
    pub(crate) fn code_spans(&self) -> Vec<(usize, String)> {
        let spans = |(number, line): &(usize, String)| -> Vec<(usize, String)> {
            line.split('`').skip(1).step_by(2).map(|span| (*number, span.to_owned())).collect()
        };
        self.prose.iter().flat_map(spans).collect()
    }
}

fn anchor_of(title: &str) -> String {
    let kept = title.trim().chars().filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// A line with what stands between backticks left out: a link shown as code is none. (Text of a link may be code, so
/// the brackets around it stay.)
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The little reader reads what pages are made of.
#[test]
fn a_page_is_taken_apart() {
    let path = std::env::temp_dir().join(format!("muster-docs-{}.md", std::process::id()));
    let text = "# A `b`, c!\n[x](y.md#z) `[no](no)` [`q`](w)\n```sh background\nls\n```\n## A b c\n";
    std::fs::write(&path, text).unwrap();
    let page = Page::read(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(page.anchors(), ["a-b-c", "a-b-c-1"]);
    assert_eq!(page.links(), [(2, "y.md#z".to_owned()), (2, "w".to_owned())]);
    assert_eq!(
        (page.blocks[0].line, page.blocks[0].info.as_str(), page.blocks[0].text.as_str()),
        (4, "sh background", "ls\n")
    );
    assert_eq!(page.code_spans()[1], (2, "[no](no)".to_owned()));
}
