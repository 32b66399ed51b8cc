//! JSON given on the command line, or in a file named there.

use crate::failure::Failure;
use serde_json::Value;

/// Reads JSON from an argument: the text itself, or `@FILE`.
pub(super) fn json_argument(flag: &str, argument: &str) -> Result<Value, Failure> {
    let text = text_argument(flag, argument)?;
    let value: Result<Value, _> = serde_json::from_str(&text);
    value.map_err(|error| Failure::Usage(format!("{flag} must be JSON (or @FILE): {error}")))
}

/// The text of an argument, or of the file that `@FILE` names.
pub(super) fn text_argument(flag: &str, argument: &str) -> Result<String, Failure> {
    let Some(path) = argument.strip_prefix('@') else {
        return Ok(argument.to_owned());
    };
    let text = std::fs::read_to_string(path);
    text.map_err(|error| Failure::Usage(format!("{flag}: {path} cannot be read: {error}")))
}
