//! The section of `docs/performance.md` that a measurement writes.

use std::{fs, path::Path};

/// Writes the section between its two marks.
pub(super) fn write(section: &str) -> Result<(), String> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/performance.md"));
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let text = replaced(&text, section).ok_or("the marks around the table are gone")?;
    fs::write(path, text).map_err(|error| error.to_string())
}

fn replaced(text: &str, section: &str) -> Option<String> {
    let (head, rest) = text.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n{}\n{END}{tail}", section.trim_end()))
}

const BEGIN: &str = "<!-- written by `muster-bench rivals` -->";
const END: &str = "<!-- end of what `muster-bench rivals` writes -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_changes() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\nnew\n{END}\nafter\n");
        assert_eq!(replaced(&text, "new\n"), Some(expected));
        assert_eq!(replaced("nothing", "new"), None);
    }

    #[test]
    fn the_document_has_the_marks() {
        let text = include_str!("../../../docs/performance.md");
        assert!(replaced(text, "new").is_some());
    }
}
