//! The id under which a request is found in every log on its way.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The caller's own id if it is harmless, else a new one.
#[must_use]
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let mut given = headers.get_all(REQUEST_ID).iter();
    let first = given.next().filter(|id| (1..=64).contains(&id.len()) && id.as_bytes().iter().all(is_fine));
    first.filter(|_| given.next().is_none()).cloned().unwrap_or_else(|| {
        let id = format!("{:016x}", rand::random::<u64>());
        HeaderValue::from_str(&id).expect("hexadecimal digits make a header value")
    })
}

/// The header that carries it, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(ids: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for id in ids {
            headers.append(REQUEST_ID, id.parse().unwrap());
        }
        ids.contains(&request_id(&headers).to_str().unwrap())
    }

    /// P16: a harmless id is kept, any other replaced; two are none.
    #[test]
    fn a_harmless_id_is_kept() {
        assert!(kept(&["Abc-1._x"]));
        for bad in ["", "a b", "a;b", &"x".repeat(65)] {
            assert!(!kept(&[bad]), "{bad}");
        }
        assert!(!kept(&["a", "b"]));
    }
}
