//! Tokens of logins: JSON Web Tokens, HS256, written and read by us alone (P1).
//!
//! Exactly one header is accepted, byte for byte: a token cannot choose how it is checked, so `alg: none` and a key taken
//! for another kind of key do not exist here.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_model::{LoginRecord, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Claims of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Its user (`sub`).
    pub user: UserId,
    /// The login it was given out for (`sid`).
    pub login: u128,
    /// Counts up with every refresh (`gen`).
    pub generation: u32,
    /// When it was made, in seconds (`iat`).
    pub issued_s: i64,
    /// From when on it is no longer taken, in seconds (`exp`).
    pub expires_s: i64,
}

/// Writes and reads tokens.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl Claims {
    /// Claims of a login's newest token.
    ///
    /// Seconds are rounded up: a token may outlive its login by a part of one, and then the login decides.
    #[must_use]
    pub fn of(login: &LoginRecord, now: Timestamp) -> Self {
        Self {
            user: login.user,
            login: login.id,
            generation: login.generation,
            issued_s: now.0.div_euclid(1000),
            expires_s: login.expires_at.0.saturating_add(999).div_euclid(1000),
        }
    }
}

impl Signer {
    /// Takes the secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// Writes a token.
    #[must_use]
    pub fn encode(&self, claims: &Claims) -> String {
        let payload = serde_json::to_vec(&Wire::from(claims)).expect("claims have only text keys");
        let mut token = format!("{HEADER}.{}", URL_SAFE_NO_PAD.encode(payload));
        let mac = self.0.clone().chain_update(&token).finalize().into_bytes();
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(mac, &mut token);
        token
    }

    /// Reads a token that this secret signed and that has not expired.
    ///
    /// A token from the future (`iat`) is taken: the signature proves that we wrote it, and after a restart our clock may
    /// stand a little earlier than before.
    #[must_use]
    pub fn decode(&self, token: &str, now: Timestamp) -> Option<Claims> {
        // Before anything is computed: whoever sends a megabyte pays for it alone.
        if token.len() > CHARS_MAX {
            return None;
        }
        let (signed, mac) = token.rsplit_once('.')?;
        let payload = signed.strip_prefix(HEADER)?.strip_prefix('.')?;
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        // In constant time.
        self.0.clone().chain_update(signed).verify_slice(&mac).ok()?;
        let wire: Wire = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
        let claims = wire.read()?;
        (now.0 < claims.expires_s.saturating_mul(1000)).then_some(claims)
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(…)")
    }
}

/// Claims as they are spelt: identities as text, since a reader in JavaScript would round them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    sub: String,
    sid: String,
    r#gen: u32,
    iat: i64,
    exp: i64,
}

impl From<&Claims> for Wire {
    fn from(claims: &Claims) -> Self {
        let Claims { user, login, generation, issued_s, expires_s } = *claims;
        Self {
            sub: user.to_string(),
            sid: format!("{login:032x}"),
            r#gen: generation,
            iat: issued_s,
            exp: expires_s,
        }
    }
}

impl Wire {
    fn read(self) -> Option<Claims> {
        Some(Claims {
            user: UserId(self.sub.parse().ok()?),
            login: u128::from_str_radix(&self.sid, 16).ok()?,
            generation: self.r#gen,
            issued_s: self.iat,
            expires_s: self.exp,
        })
    }
}

/// `{"alg":"HS256","typ":"JWT"}`
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

/// Ours have about 250.
const CHARS_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
    const NOW: Timestamp = Timestamp(1_000_000);

    fn claims() -> Claims {
        Claims { user: UserId(7), login: u128::MAX, generation: 3, issued_s: 1000, expires_s: 1900 }
    }

    fn b64(text: &str) -> String {
        URL_SAFE_NO_PAD.encode(text)
    }

    /// A token as somebody without our code would make it, with the right key.
    fn forged(header: &str, payload: &str, secret: &[u8]) -> String {
        let signed = format!("{}.{}", b64(header), b64(payload));
        let mac = Signer::new(secret).0.chain_update(&signed).finalize().into_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    fn is_taken(token: &str) -> bool {
        Signer::new(SECRET).decode(token, NOW).is_some()
    }

    const PAYLOAD: &str = r#"{"sub":"7","sid":"1","gen":3,"iat":1000,"exp":1900}"#;
    const OURS: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

    /// P1: what was written is read; the header is the one everybody knows.
    #[test]
    fn a_token_says_what_was_written() {
        let signer = Signer::new(SECRET);
        let token = signer.encode(&claims());
        assert_eq!(signer.decode(&token, NOW), Some(claims()));
        assert_eq!(b64(OURS), HEADER);
        assert!(is_taken(&forged(OURS, PAYLOAD, SECRET)), "the forger of these tests works");
        assert!(token.len() < CHARS_MAX / 2 && !format!("{signer:?}").contains("0123"));
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
    }

    /// P2: a token does not choose its own check: no other algorithm, however it is signed.
    #[test]
    fn a_token_does_not_choose_its_check() {
        for header in [
            r#"{"alg":"none","typ":"JWT"}"#,
            r#"{"alg":"None"}"#,
            r#"{"alg":"HS384","typ":"JWT"}"#,
            r#"{"alg":"HS512","typ":"JWT"}"#,
            // Signed with what a confused reader would take for the public key.
            r#"{"alg":"RS256","typ":"JWT"}"#,
            r#"{"alg":"ES256","typ":"JWT"}"#,
            r#"{"typ":"JWT","alg":"HS256"}"#,
            r#"{"alg":"HS256","typ":"JWT","kid":"../../dev/null"}"#,
            r#"{"alg":"HS256","typ":"JWT","jwk":{}}"#,
            r#"{"alg":"HS256"}"#,
            "",
        ] {
            assert!(!is_taken(&forged(header, PAYLOAD, SECRET)), "{header}");
        }
        let bare = format!("{}.{}.", b64(r#"{"alg":"none","typ":"JWT"}"#), b64(PAYLOAD));
        assert!(!is_taken(&bare) && !is_taken(&format!("{HEADER}.{}.", b64(PAYLOAD))));
    }

    /// P2: changed, cut, lengthened and padded tokens are no tokens.
    #[test]
    fn a_changed_token_is_none() {
        let token = Signer::new(SECRET).encode(&claims());
        assert!(is_taken(&token));
        assert!(!is_taken(&forged(OURS, PAYLOAD, b"another secret of thirty-two byte")));
        let [header, payload, mac] = token.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
        let richer = b64(&PAYLOAD.replace("\"7\"", "\"1\""));
        for changed in [
            format!("{header}.{richer}.{mac}"),
            format!("{token}."),
            format!(".{token}"),
            format!("{header}..{payload}.{mac}"),
            format!("{token}.{mac}"),
            format!("{token}="),
            format!("{header}.{payload}=.{mac}"),
            format!("{header}.{payload}"),
            format!("{header}.{payload}.{}", &mac[..mac.len() - 1]),
            format!("{header}.{payload}.{}", &mac[..20]),
            format!(" {token}"),
            format!("{token}{}", "A".repeat(CHARS_MAX)),
            ".".repeat(1 << 20),
            "..".to_owned(),
            String::new(),
        ] {
            assert!(!is_taken(&changed), "{changed:.80}");
        }
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert!(!is_taken(&String::from_utf8(bytes).unwrap()), "{at}");
        }
    }

    /// P1, P2: an expired token is none; one from the future is taken, see `decode`.
    #[test]
    fn a_token_ends() {
        let signer = Signer::new(SECRET);
        let token = signer.encode(&claims());
        assert!(signer.decode(&token, Timestamp(1_899_999)).is_some());
        assert!(signer.decode(&token, Timestamp(1_900_000)).is_none());
        assert!(signer.decode(&token, Timestamp(i64::MAX)).is_none());
        assert!(signer.decode(&token, Timestamp(0)).is_some(), "made in the future");
    }

    /// P2: signed claims of another shape are none either.
    #[test]
    fn claims_have_one_shape() {
        for payload in [
            r#"{"sub":"7","sid":"1","gen":3,"iat":1000}"#,
            r#"{"sub":7,"sid":"1","gen":3,"iat":1000,"exp":1900}"#,
            r#"{"sub":"7","sid":"1","gen":3,"iat":1000,"exp":1900.5}"#,
            r#"{"sub":"7","sid":"1","gen":3,"iat":1000,"exp":"1900"}"#,
            r#"{"sub":"7","sid":"1","gen":-1,"iat":1000,"exp":1900}"#,
            r#"{"sub":"7","sid":"x","gen":3,"iat":1000,"exp":1900}"#,
            r#"{"sub":"7","sid":"1","gen":3,"iat":1000,"exp":1900,"exp":9999}"#,
            r#"{"sub":"7","sid":"1","gen":3,"iat":1000,"exp":1900,"role":"ADMIN"}"#,
            "null",
        ] {
            assert!(!is_taken(&forged(OURS, payload, SECRET)), "{payload}");
        }
    }

    /// P1: a login of half a second has a token that lasts at least as long.
    #[test]
    fn seconds_are_rounded_up() {
        let login = LoginRecord { id: 1, user: UserId(7), generation: 0, expires_at: Timestamp(1_000_500) };
        assert_eq!((Claims::of(&login, NOW).issued_s, Claims::of(&login, NOW).expires_s), (1000, 1001));
    }
}
