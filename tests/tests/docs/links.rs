//! No link of any page leads nowhere.

use crate::{all_pages, markdown::Page, root};
use std::path::Path;

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
