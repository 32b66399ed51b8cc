//! The token that a request shows.

use axum::http::{HeaderMap, header};

/// The token in `Authorization: Bearer`; a header that stands there twice counts as none.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, token) = values.next()?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_one = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && values.next().is_none();
    is_one.then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P2: what is no bearer token is none.
    #[test]
    fn a_token_is_given_once() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(read(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&["bearer  abc "]).as_deref(), Some("abc"));
        for wrong in [&["Basic abc"][..], &["Bearer "], &["abc"], &["Bearer a", "Bearer a"], &[]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
