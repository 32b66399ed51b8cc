//! Tells code and documentation of a Rust file from strings and comments.

/// Blanks string literals and comments other than `///`, so that what is found afterwards is real.
///
/// Lines and byte offsets stay where they were.
pub(crate) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let piece = first_piece(rest);
        let (taken, after) = rest.split_at(piece.length.clamp(1, rest.len()));
        if piece.kept {
            masked.push_str(taken);
        } else {
            masked.extend(taken.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        }
        rest = after;
    }
    masked
}

/// Measures from the first `open` to the `close` that matches it; to the end if none does.
pub(crate) fn balanced_length(masked: &str, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, found) in masked.char_indices() {
        if found == open {
            depth += 1;
        } else if found == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + close.len_utf8();
            }
        }
    }
    masked.len()
}

/// Says whether a character can stand in a name.
pub(crate) fn is_name_char(found: char) -> bool {
    found.is_alphanumeric() || found == '_'
}

/// A stretch at the head of a text, in bytes.
struct Piece {
    length: usize,
    kept: bool,
}

fn first_piece(rest: &str) -> Piece {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return Piece { length, kept: rest.starts_with("///") && !rest.starts_with("////") };
    }
    if rest.starts_with("/*") {
        return Piece { length: block_comment_length(rest), kept: false };
    }
    match rest.chars().next() {
        Some('"') => Piece { length: quoted_length(rest, '"'), kept: false },
        Some('\'') if opens_char_literal(rest) => Piece { length: quoted_length(rest, '\''), kept: false },
        Some(first) if is_name_char(first) => name_or_raw_string(rest),
        Some(other) => Piece { length: other.len_utf8(), kept: true },
        None => Piece { length: 0, kept: true },
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, found) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if found == '\\' {
            escaped = true;
        } else if found == quote {
            return at + quote.len_utf8();
        }
    }
    rest.len()
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`.
fn opens_char_literal(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    let (second, third) = (chars.next(), chars.next());
    second == Some('\\') || third == Some('\'')
}

fn name_or_raw_string(rest: &str) -> Piece {
    let name_length = rest.find(|found| !is_name_char(found)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(name_length);
    let hashes: String = after.chars().take_while(|found| *found == '#').collect();
    let opens_string = after.get(hashes.len()..).is_some_and(|tail| tail.starts_with('"'));
    if !matches!(name, "r" | "br" | "cr") || !opens_string {
        return Piece { length: name_length, kept: true };
    }
    let content = name_length + hashes.len() + 1;
    let closing = format!("\"{hashes}");
    let end = rest.get(content..).and_then(|tail| tail.find(&closing));
    Piece { length: end.map_or(rest.len(), |end| content + end + closing.len()), kept: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_plain_comments_are_blanked() {
        assert_eq!(mask(r#"a("}\"{", 'x') // {"#), "a(      ,    )     ");
        assert_eq!(mask("r#\"{\"}\"# b\"{\" /* { /* } */ */ c"), "         b                    c");
        assert_eq!(mask("//! {\n//// {\n/// {"), "     \n      \n/// {");
    }

    #[test]
    fn lifetimes_and_raw_names_are_no_literals() {
        for code in ["fn f<'a>(x: &'a str) {}", "let r#type = 1;", "loop { break 'outer; }"] {
            assert_eq!(mask(code), code);
        }
        assert_eq!(mask(r"['\'', '}', '\\']"), "[    ,    ,     ]");
    }

    #[test]
    fn offsets_survive_wide_characters() {
        let text = "\"…\"\nx";
        assert_eq!(mask(text).len(), text.len());
        assert_eq!(mask(text).find('x'), text.find('x'));
    }

    #[test]
    fn an_unfinished_text_ends_where_it_ends() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'\\"] {
            assert_eq!(mask(text).trim(), "");
        }
        assert_eq!(balanced_length("{ {", '{', '}'), 3);
        assert_eq!(balanced_length("{ {} } }", '{', '}'), 6);
    }
}
