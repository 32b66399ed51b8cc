//! Walks through every page that leads somebody by the hand: its blocks in order, in one shell, in a directory of their own.

use crate::{Block, Page, all_pages, root};
use muster_tests::{binary, until, venv};
use std::{
    fmt::Write as _,
    fs,
    net::TcpListener,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU8, Ordering},
    thread,
};
use tempfile::TempDir;

/// A page under way; whatever it started ends with the value.
struct Session {
    shell: Child,
    directory: TempDir,
}

/// Runs every `sh` block of a page and holds what it printed against the `text` block that follows.
pub(crate) fn run(path: &str) {
    let mut page = Page::read(Path::new(path));
    let address = free_address();
    for block in &mut page.blocks {
        block.text = block.text.replace("127.0.0.1:7400", &address);
    }
    let mut session = Session::start(&script(&page), &address);
    let ended = session.wait(path);
    assert!(ended.success(), "{path}:{}: the block ended with {ended}", session.seen("at"));
    let unlike =
        page.blocks.windows(2).filter_map(|pair| session.unlike(&pair[0], &pair[1])).collect::<Vec<_>>();
    assert!(unlike.is_empty(), "{path}: {}", unlike.join("\n\n"));
}

/// True if a block is executed; one that is `sh unchecked` is only looked at.
pub(crate) fn is_run(block: &Block) -> bool {
    block.info == "sh" || block.info == BACKGROUND
}

impl Session {
    fn start(script: &str, address: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [work, programs, seen] = ["work", "bin", "seen"].map(|name| directory.path().join(name));
        for made in [&work, &programs, &seen] {
            fs::create_dir(made).unwrap();
        }
        symlink(binary(), programs.join("muster")).unwrap();
        symlink(root().join("docs"), work.join("docs")).unwrap();
        fs::write(seen.join("page"), script).unwrap();
        let first = [programs, venv().join("bin")];
        let rest = std::env::var_os("PATH").unwrap();
        let search = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&rest))).unwrap();
        let output = fs::File::create(seen.join("shell")).unwrap();
        let mut shell = Command::new("bash");
        shell.arg(seen.join("page")).current_dir(work).env_clear().process_group(0).stdin(Stdio::null());
        shell
            .env("PATH", &search)
            .env("PATH_AT_FIRST", &search)
            .env("HOME", directory.path())
            .env("SEEN", &seen);
        shell.env("ADDRESS", format!("http://{address}")).env("MUSTER_SERVER", format!("http://{address}"));
        let shell = shell.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        Self { shell, directory }
    }

    /// Waits until the page is over; what counts is that its blocks go on, not how many there are.
    fn wait(&mut self, path: &str) -> ExitStatus {
        loop {
            let at = self.seen("at");
            let ended = until(&format!("the end of the block at {path}:{at}"), || {
                let ended = self.shell.try_wait().unwrap();
                (ended.is_some() || self.seen("at") != at).then_some(ended)
            });
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Text that a page shows below a block and the block did not print.
    fn unlike(&self, block: &Block, below: &Block) -> Option<String> {
        let is_shown = is_run(block) && below.info == "text";
        let printed = self.seen(&block.line.to_string());
        let missing = missing(&below.text, &printed).filter(|_| is_shown)?;
        Some(format!("line {}: nothing like {missing} in what was printed:\n{printed}", below.line))
    }

    fn seen(&self, name: &str) -> String {
        let path: PathBuf = self.directory.path().join("seen").join(name.trim());
        let read = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        read.unwrap_or_default().trim_end().to_owned()
    }
}

impl Drop for Session {
    /// Ends the page's own process group: the shell, and all that its blocks left running.
    fn drop(&mut self) {
        let group = format!("-{}", self.shell.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.shell.wait();
        if thread::panicking() {
            let at = self.seen("at");
            eprintln!("the block at line {at} printed:\n{}\n{}", self.seen(&at), self.seen("shell"));
        }
    }
}

/// The page as one script.
fn script(page: &Page) -> String {
    let mut script = PROLOGUE.to_owned();
    for (index, block) in page.blocks.iter().enumerate().filter(|(_, block)| is_run(block)) {
        let Block { line, text, .. } = block;
        writeln!(script, "at {line}").unwrap();
        if block.info == BACKGROUND {
            let expected = page.blocks.get(index + 1).filter(|next| next.info == "text");
            let sign = expected.and_then(|next| next.text.lines().next()).unwrap_or_default();
            writeln!(script, "cat >\"$SEEN/{line}.sh\" <<'END OF BLOCK'\n{text}END OF BLOCK").unwrap();
            writeln!(script, "in_another_shell {line}\nuntil_seen {line} '{}'", pattern(sign)).unwrap();
        } else {
            writeln!(script, "{{\n{text}}} >\"$SEEN/{line}\" 2>&1").unwrap();
        }
    }
    script
}

/// The first line of an expectation that is not in what was printed, in order; `…` stands for anything.
fn missing<'a>(expected: &'a str, printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines();
    expected
        .lines()
        .filter(|line| !line.trim().is_empty())
        .find(|line| !lines.any(|seen| is_like(seen, line)))
}

fn is_like(seen: &str, expected: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let seen = squeezed(seen);
    let mut rest = seen.as_str();
    squeezed(expected).split('…').map(str::trim).all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

/// The same as an extended regular expression, within single quotes.
fn pattern(line: &str) -> String {
    let escape = |letter: char| match letter {
        '…' => ".*".to_owned(),
        '\'' => ".".to_owned(),
        letter if letter.is_ascii_punctuation() => format!("[{}]", if letter == '^' { '.' } else { letter }),
        letter => letter.to_string(),
    };
    line.trim().chars().map(escape).collect()
}

/// A free port at a loopback address of this page alone, so that nobody takes it before the page's server does.
fn free_address() -> String {
    let [.., high, low] = std::process::id().to_be_bytes();
    let number = PAGES.fetch_add(1, Ordering::Relaxed);
    let listener = TcpListener::bind(format!("127.{}.{low}.{number}:0", high | 1)).unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Loopback addresses that were given to pages; servers of other tests in this process count from 1.
static PAGES: AtomicU8 = AtomicU8::new(128);

const BACKGROUND: &str = "sh background";
const PROLOGUE: &str = include_str!("prologue.sh");

/// Text that a page shows must be in the output, line by line and in order, and not elsewhere.
#[test]
fn what_one_sees_is_compared() {
    let printed = " DEVICE   STATUS\n d1  ERROR\n d2  ONLINE";
    assert_eq!(missing("DEVICE STATUS\nd2  ON…", printed), None);
    assert_eq!(missing("d2 ONLINE\nd1 ERROR", printed), Some("d1 ERROR"));
    assert_eq!(missing("d1 …ONLINE", printed), Some("d1 …ONLINE"));
    assert_eq!(pattern("a.b … 'c'"), "a[.]b .* .c.");
}

/// I1, I3, I4, Q11, Q15, Q16: what the first page tells a newcomer to type works.
#[test]
fn the_readme() {
    run("README.md");
}

/// I1, I3, I4, N1, N4, N6b, N7, N12, N14, Q11, Q15, Q16: from nothing to a worker of one's own.
#[test]
fn the_tutorial() {
    run("docs/tutorial.md");
}

/// I3, S5, S6, S26, S26b, S26c, P9, P13, P17, C14, C18: frames, jobs and a court, with the workers that come with Muster.
#[test]
fn the_walkthroughs() {
    run("docs/walkthroughs.md");
}

/// N1, N1b, N2, N4, N5, N6, N6b, N12, N14, N21: a node by hand, then in Python.
#[test]
fn nodes() {
    run("docs/workers/nodes.md");
}

/// Q11, Q14, Q15, Q16: rows by claim, by hand and in Python; the feed.
#[test]
fn operations() {
    run("docs/workers/operations.md");
}

/// S1, S2, S3, S4, S5, S26: a range of frames by hand, then a session in Python.
#[test]
fn simulation() {
    run("docs/workers/simulation.md");
}

/// P3, P5, P6, P7, P8, P9, P13, P17: a signed result by hand, then a worker in Python.
#[test]
fn pool() {
    run("docs/workers/pool.md");
}

/// C4, C7, C11, C14, C16, C18, C21: a soldier and a source in Python.
#[test]
fn court() {
    run("docs/workers/court.md");
}

/// I3: no page has blocks of a kind that nobody knows, and those that are run are run by a test above.
#[test]
fn nothing_is_left_out() {
    let source = include_str!("shell.rs");
    for path in &all_pages() {
        let page = Page::read(path);
        let is_walked = source.contains(&call(path));
        assert!(
            is_walked || !path.starts_with("docs/workers") || !page.blocks.iter().any(is_run),
            "{path:?}"
        );
        for block in page.blocks.iter().filter(|_| is_walked) {
            assert!(
                KINDS.contains(&block.info.as_str()),
                "{path:?}:{}: {:?} is no kind",
                block.line,
                block.info
            );
        }
    }
}

/// Call with which a test above runs a page.
fn call(path: &Path) -> String {
    format!("run(\"{}\")", path.display())
}

/// Kinds of blocks that such a page may have; only the first two are run.
const KINDS: [&str; 7] = ["sh", "sh background", "sh unchecked", "text", "json", "python", "toml"];
