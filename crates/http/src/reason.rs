//! The header in which callers give their reason, for the audit log (I7).

use crate::Problem;
use axum::http::{HeaderName, HeaderValue, Method, request::Parts};
use muster_model::is_unseen;
use percent_encoding::percent_decode_str;
use utoipa::openapi::{
    ObjectBuilder, Required, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
};

/// Says why a request changes something: UTF-8, percent-encoded, since headers carry no more than ASCII.
pub const REASON: HeaderName = HeaderName::from_static("muster-reason");

/// True if a request with that method changes nothing.
pub(crate) const fn only_reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The reason that a request gives; requests that only read need none.
pub(crate) fn reason(parts: &Parts) -> Result<Option<Box<str>>, Problem> {
    if only_reads(&parts.method) {
        return Ok(None);
    }
    let mut values = parts.headers.get_all(REASON).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(refused("stands twice in the request"));
    }
    let text = decode(value).ok_or_else(|| refused("must be UTF-8, percent-encoded"))?;
    check(&text)?;
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.into()))
}

/// The header, for descriptions.
pub(crate) fn parameter() -> Parameter {
    let schema = ObjectBuilder::new().schema_type(Type::String).pattern(Some(PATTERN));
    ParameterBuilder::new()
        .name(NAME)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Why; at most 500 characters of UTF-8, percent-encoded. It stands in the audit log.",
        ))
        .schema(Some(schema.build()))
        .build()
}

fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let is_whole = text.split('%').skip(1).all(is_escape);
    is_whole.then(|| percent_decode_str(text).decode_utf8().ok().map(Into::into)).flatten()
}

/// One line that shows itself as it is: logs are read by people, and at terminals.
fn check(text: &str) -> Result<(), Problem> {
    if text.contains(is_unseen) {
        return Err(refused("must not contain control characters, nor any that is not seen"));
    }
    if text.chars().count() > CHARS_MAX {
        return Err(refused(&format!("must have at most {CHARS_MAX} characters")));
    }
    Ok(())
}

/// In the words of every contract: `field` for most, `errors` for contract P's clients.
fn refused(detail: &str) -> Problem {
    let errors = serde_json::json!([{"loc": ["header", NAME], "msg": format!("Input {detail}")}]);
    Problem::unprocessable(NAME, detail).with("errors", errors)
}

/// As it is written for people.
const NAME: &str = "Muster-Reason";

/// More than a line of a log should have.
const CHARS_MAX: usize = 500;

/// Values that [`decode`] and [`check`] accept: characters of one to four bytes of UTF-8, except invisible ones.
const PATTERN: &str = concat!(
    r"^(?:[ -$&-~]|%[2-6][0-9A-Fa-f]|%7[0-9A-Ea-e]|%[Cc]2%[ABab][0-9A-Fa-f]",
    r"|(?:%[Cc][3-9A-Fa-f]|%[Dd][0-9A-Fa-f]|%[Ee]0%[ABab][0-9A-Fa-f]|%[Ee][Dd]%[89][0-9A-Fa-f]",
    r"|%[Ee]2%8[2-9A-Fa-f]|%[Ee]2%[9ABab][0-9A-Fa-f]|%[Ee][13-9A-Ca-cEe]%[89ABab][0-9A-Fa-f]",
    r"|%[Ee][Ff]%[89Aa][0-9A-Fa-f]|%[Ee][Ff]%[Bb][0-9ACDEFacdef]",
    r"|%[Ff]0%[9ABab][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]|%[Ff]4%8[0-9A-Fa-f]%[89ABab][0-9A-Fa-f]",
    r"|%[Ff][1-3]%[89ABab][0-9A-Fa-f]%[89ABab][0-9A-Fa-f])%[89ABab][0-9A-Fa-f]",
    r"|%[Ee]2%80%(?:8[0-9Aa]|[9Bb][0-9A-Fa-f]|[Aa][0-7Ff])|%[Ee]2%81%(?:[89Bb][0-9A-Fa-f]|[Aa][A-Fa-f])",
    r"|%[Ee][Ff]%[Bb][Bb]%(?:[89Aa][0-9A-Fa-f]|[Bb][0-9A-Ea-e])){0,500}$",
);

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use regex_lite::Regex;

    fn read(method: Method, values: &[&[u8]]) -> Result<Option<Box<str>>, Problem> {
        let mut request = axum::http::Request::builder().method(method);
        for value in values {
            request = request.header(REASON, *value);
        }
        reason(&request.body(()).unwrap().into_parts().0)
    }

    /// I7: a reason is any text of one line.
    #[test]
    fn a_reason_is_decoded() {
        let told = |value: &[u8]| read(Method::POST, &[value]).unwrap();
        assert_eq!(told(b"wrong build").as_deref(), Some("wrong build"));
        assert_eq!(told(b"%EA%B8%B0%EA%B8%B0 100%25 ").as_deref(), Some("기기 100%"));
        assert_eq!(told("%EA%B8%B0".repeat(500).as_bytes()).unwrap().chars().count(), 500);
        assert_eq!((told(b""), told(b"%20")), (None, None));
        assert_eq!(read(Method::DELETE, &[]).unwrap(), None);
    }

    /// I7: what cannot be a reason is refused, and the header named.
    #[test]
    fn what_is_no_reason_is_refused() {
        let long = "x".repeat(501);
        let wrong: [&[&[u8]]; 14] = [
            &[b"%"],
            &[b"100% sure"],
            &[b"%4"],
            &[b"%FF"],
            &["é".as_bytes()],
            &[b"a%0Ab"],
            &[b"%E2%80%AEx"],
            &[b"a%E2%80%8Bb"],
            &[b"a%E2%80%AAb"],
            &[b"a%E2%81%A0b"],
            &[b"a%E2%81%A6b"],
            &[b"%EF%BB%BFa"],
            &[long.as_bytes()],
            &[b"a", b"a"],
        ];
        for values in wrong {
            let problem = read(Method::POST, values).unwrap_err();
            assert_eq!(
                (problem.status().as_u16(), problem.field()),
                (422, Some("Muster-Reason")),
                "{problem}"
            );
        }
    }

    /// I7, I8: the description of the header takes exactly the characters that the server takes.
    #[test]
    fn the_pattern_takes_what_is_taken() {
        let one = Regex::new(&PATTERN.replace("{0,500}", "")).unwrap();
        for char in (char::MIN..=char::MAX).step_by(7).chain('\0'..='\u{20ff}').chain('\u{fe00}'..='\u{ffff}')
        {
            let encoded = utf8_percent_encode(char.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC).to_string();
            let is_taken = read(Method::POST, &[encoded.as_bytes()]).is_ok();
            assert_eq!(one.is_match(&encoded), is_taken, "{encoded}");
        }
    }

    /// I7: whoever only reads is not asked why.
    #[test]
    fn a_reader_needs_no_reason() {
        assert_eq!(read(Method::GET, &[b"%FF"]).unwrap(), None);
        assert_eq!(read(Method::HEAD, &[b"x"]).unwrap(), None);
    }
}
