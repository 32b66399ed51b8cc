//! Makes paths of templates such as `videos/{node_id}/{timestamp}.png`.

use crate::{ContentHash, PathError, StoragePath, escape, path::is_plain};

/// A path with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Vec<Piece>>);

/// A stretch of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Placeholder(String),
}

/// Reason why a text is no template, or makes no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Between two slashes, or at an end, there is nothing; or a component begins with a dot.
    #[error("has a component that is not allowed: {0:?}")]
    Component(String),
    /// A brace without its partner.
    #[error("has a brace without its partner in {0:?}")]
    Brace(String),
    /// There is no value for the placeholder.
    #[error("has an unknown placeholder {{{0}}}")]
    Unknown(String),
    /// The result is not a path.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl Template {
    /// Reads a template. What stands in it literally must be allowed in a path as it is.
    ///
    /// # Errors
    /// When it is not, or braces do not match.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        text.split('/').map(pieces).collect::<Result<_, _>>().map(Self)
    }

    /// Puts values in, each escaped, so that none can add a component or be taken for another.
    ///
    /// # Errors
    /// When `value` does not know a placeholder, or the whole becomes too long.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<StoragePath, TemplateError> {
        let component = |pieces: &Vec<Piece>| fill_component(pieces, &value);
        let components = self.0.iter().map(component).collect::<Result<Vec<_>, _>>()?;
        Ok(StoragePath::parse(&components.join("/"))?)
    }
}

fn pieces(component: &str) -> Result<Vec<Piece>, TemplateError> {
    let refuse = || TemplateError::Component(component.to_owned());
    if component.is_empty() || component.starts_with('.') {
        return Err(refuse());
    }
    let mut pieces = Vec::new();
    let mut rest = component;
    while !rest.is_empty() {
        let (literal, after) = rest.split_once('{').unwrap_or((rest, ""));
        if literal.contains('}') || (after.is_empty() && rest.ends_with('{')) {
            return Err(TemplateError::Brace(component.to_owned()));
        }
        if !literal.bytes().all(is_plain) {
            return Err(refuse());
        }
        pieces.push(Piece::Literal(literal.to_owned()));
        rest = match after.split_once('}') {
            Some((name, rest)) => {
                pieces.push(Piece::Placeholder(name.to_owned()));
                rest
            }
            None if after.is_empty() => "",
            None => return Err(TemplateError::Brace(component.to_owned())),
        };
    }
    Ok(pieces)
}

fn fill_component(
    pieces: &[Piece],
    value: &impl Fn(&str) -> Option<String>,
) -> Result<String, TemplateError> {
    let mut filled = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => filled.push_str(text),
            Piece::Placeholder(name) => {
                let value = value(name).ok_or_else(|| TemplateError::Unknown(name.clone()))?;
                filled.push_str(&escape(&value));
            }
        }
    }
    Ok(presentable(filled))
}

/// Makes a component of escaped text: never empty, never hidden, never too long.
fn presentable(mut filled: String) -> String {
    if filled.is_empty() {
        return "_".to_owned();
    }
    if filled.starts_with('.') {
        filled.replace_range(..1, "~2E");
    }
    if filled.len() > StoragePath::COMPONENT_BYTES_MAX {
        // `~~` cannot come from escaping, so that no short text looks like a shortened one.
        let hash = ContentHash::of(filled.as_bytes()).to_string();
        filled.truncate(StoragePath::COMPONENT_BYTES_MAX - HASH_CHARS - 2);
        filled = format!("{filled}~~{}", &hash[..HASH_CHARS]);
    }
    filled
}

/// Half a SHA-256: enough to keep what was shortened apart.
const HASH_CHARS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(template: &str, value: &str) -> Result<String, TemplateError> {
        let template = Template::parse(template)?;
        let known = |name: &str| (name == "v").then(|| value.to_owned());
        template.fill(known).map(|path| path.as_str().to_owned())
    }

    /// N21: a template's placeholders are put in, several to a component.
    #[test]
    fn placeholders_are_put_in() {
        assert_eq!(fill("videos/{v}/x-{v}.png", "a").unwrap(), "videos/a/x-a.png");
        assert_eq!(fill("{v}{v}/b", "a").unwrap(), "aa/b");
    }

    /// N21: no value can escape: not by dots, slashes, NUL, unseen characters or length.
    #[test]
    fn hostile_values_stay_in_their_component() {
        for (value, path) in [
            ("..", "s/~2E.-/x"),
            ("../../etc/passwd", "s/~2E.~2F..~2Fetc~2Fpasswd-/x"),
            ("/abs", "s/~2Fabs-/x"),
            ("a\\b", "s/a~5Cb-/x"),
            ("a\0b", "s/a~00b-/x"),
            ("\u{202e}x\u{200b}", "s/~E2~80~AEx~E2~80~8B-/x"),
            ("{v}", "s/~7Bv~7D-/x"),
        ] {
            assert_eq!(fill("s/{v}-/x", value).unwrap(), path, "{value:?}");
        }
        assert_eq!(fill("{v}/x", "").unwrap(), "_/x");
        assert_eq!(fill("{v}", ".").unwrap(), "~2E");
    }

    /// N21: long values are shortened and still kept apart.
    #[test]
    fn long_values_do_not_collide() {
        let paths =
            ["x".repeat(5000), "x".repeat(5001), "기".repeat(128)].map(|v| fill("a/{v}", &v).unwrap());
        assert!(paths.iter().all(|path| path.len() == 202 && path.contains("~~")), "{paths:?}");
        assert!(paths[0] != paths[1] && paths[1] != paths[2]);
        assert_ne!(fill("a/{v}", &paths[0][2..]).unwrap(), paths[0]);
        let many = ["{v}"; 6].join("/");
        let refused = fill(&many, &"x".repeat(300)).unwrap_err();
        assert_eq!(refused, TemplateError::Path(PathError::TooLong(1205)));
    }

    /// N21: a template that is wrong is refused, not mended.
    #[test]
    fn a_wrong_template_is_refused() {
        for bad in [
            "", "/a", "a/", "a//b", "..", "a/../b", ".a", "a b", "a\\b", "a\0", "a~2Eb", "{v", "a}", "{v}}",
            "{",
        ] {
            assert!(fill(bad, "x").is_err(), "{bad:?}");
        }
        assert_eq!(fill("{w}", "x").unwrap_err(), TemplateError::Unknown("w".to_owned()));
        assert_eq!(fill("{}", "x").unwrap_err(), TemplateError::Unknown(String::new()));
    }
}
