//! Every page that leads somebody by the hand, walked through.

use crate::{
    all_pages,
    markdown::Page,
    shell::{self, is_run},
};
use std::path::Path;

/// I1, I3, I4, Q11, Q15, Q16: what the first page tells a newcomer to type works.
#[test]
fn the_readme() {
    shell::run("README.md");
}

/// I1, I3, I4, N1, N4, N6b, N7, N12, N14, Q11, Q15, Q16: from nothing to a worker of one's own.
#[test]
fn the_tutorial() {
    shell::run("docs/tutorial.md");
}

/// I3, S5, S6, S26, S26b, S26c, P9, P13, P17, C14, C18: frames, jobs and a court, with the workers that come with Muster.
#[test]
fn the_walkthroughs() {
    shell::run("docs/walkthroughs.md");
}

/// N1, N1b, N2, N4, N5, N6, N6b, N12, N14, N21: a node by hand, then in Python.
#[test]
fn nodes() {
    shell::run("docs/workers/nodes.md");
}

/// Q11, Q14, Q15, Q16: rows by claim, by hand and in Python; the feed.
#[test]
fn operations() {
    shell::run("docs/workers/operations.md");
}

/// S1, S2, S3, S4, S5, S26: a range of frames by hand, then a session in Python.
#[test]
fn simulation() {
    shell::run("docs/workers/simulation.md");
}

/// P3, P5, P6, P7, P8, P9, P13, P17: a signed result by hand, then a worker in Python.
#[test]
fn pool() {
    shell::run("docs/workers/pool.md");
}

/// C4, C7, C11, C14, C16, C18, C21: a soldier and a source in Python.
#[test]
fn court() {
    shell::run("docs/workers/court.md");
}

/// I3: no page has blocks of a kind that nobody knows, and those that are run are run by a test above.
#[test]
fn nothing_is_left_out() {
    let source = include_str!("pages.rs");
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

/// How a test above runs a page.
fn call(path: &Path) -> String {
    format!("shell::run(\"{}\")", path.display())
}

/// What a block of such a page may be; only the first two are run.
const KINDS: [&str; 7] = ["sh", "sh background", "sh unchecked", "text", "json", "python", "toml"];
