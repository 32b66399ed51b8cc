//! Examples are executed by the pages that show them, and here where they promise more than a page can show.

use crate::{all_pages, markdown::Page, root, shell::is_run};

/// N1, P6, S3, Q14, C16: every program in `docs/examples` is run by a page that a test walks through.
#[test]
fn every_example_is_run_by_a_page() {
    let pages = all_pages();
    let walked = pages.iter().filter(|path| path.starts_with("docs/workers")).map(|path| Page::read(path));
    let run: String = walked.flat_map(|page| page.blocks).filter(is_run).map(|block| block.text).collect();
    let examples = root().join("docs/examples").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    for example in examples.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".py")) {
        assert!(run.contains(&format!("docs/examples/{example}")), "no page runs {example}");
    }
}
