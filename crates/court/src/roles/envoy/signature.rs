//! Proof that a request comes from Slack: a keyed hash of its time and its body.

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

/// The secret that Slack and this court share.
#[derive(Clone)]
pub(super) struct Signing(Hmac<Sha256>);

/// Why a request is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unproven {
    /// A header is not there, or not what it must be.
    #[error("{0} is missing or malformed")]
    Header(&'static str),
    /// It may be a repeat of what somebody overheard.
    #[error("X-Slack-Request-Timestamp is more than {AGE_S_MAX} s away from this host's time")]
    Old,
    /// Somebody else made it, or changed it.
    #[error("X-Slack-Signature is not that of this request")]
    Forged,
}

/// What a request claims, before its body is read.
#[derive(Debug)]
pub(super) struct Claim {
    timestamp: i64,
    signature: Vec<u8>,
}

impl Claim {
    /// Reads the headers; an old request is refused here, so that its body need not be read.
    pub(super) fn of(headers: &HeaderMap, now: Timestamp) -> Result<Self, Unproven> {
        let header = |name: &'static str| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.ok_or(Unproven::Header(name))
        };
        let timestamp = header(TIMESTAMP)?;
        let is_number = (1..=DIGITS_MAX).contains(&timestamp.len())
            && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let timestamp: i64 =
            timestamp.parse().ok().filter(|_| is_number).ok_or(Unproven::Header(TIMESTAMP))?;
        let signature = header(SIGNATURE)?.strip_prefix("v0=").and_then(hex);
        let signature = signature.ok_or(Unproven::Header(SIGNATURE))?;
        if now.as_second().abs_diff(timestamp) > AGE_S_MAX {
            return Err(Unproven::Old);
        }
        Ok(Self { timestamp, signature })
    }
}

impl Signing {
    pub(super) fn new(secret: &str) -> Self {
        Self(Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// Holds a body against what was claimed, in a time that tells nothing about the secret.
    pub(super) fn check(&self, claim: &Claim, body: &[u8]) -> Result<(), Unproven> {
        let mac = self.0.clone().chain_update(format!("v0:{}:", claim.timestamp)).chain_update(body);
        mac.verify_slice(&claim.signature).map_err(|_| Unproven::Forged)
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair.first()?)? * 16 + digit(pair.get(1)?)?).ok();
    (text.len() == 2 * MAC_BYTES).then(|| text.as_bytes().chunks(2).map(pair).collect())?
}

const TIMESTAMP: &str = "X-Slack-Request-Timestamp";
const SIGNATURE: &str = "X-Slack-Signature";
/// What Slack recommends.
const AGE_S_MAX: u64 = 300;
const DIGITS_MAX: usize = 18;
const MAC_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// C18: the example of Slack's own documentation is believed at its time, and by its secret only.
    #[test]
    fn the_example_of_the_documentation_is_believed() {
        let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let mut headers = HeaderMap::new();
        headers.insert(TIMESTAMP, "1531420618".parse().unwrap());
        let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        headers.insert(SIGNATURE, signature.parse().unwrap());
        let at = |second| Timestamp::from_second(second).unwrap();
        let claim = Claim::of(&headers, at(1_531_420_618)).unwrap();
        let signing = Signing::new("8f742231b10e8888abcd99yyyzzz85a5");
        assert_eq!(signing.check(&claim, body), Ok(()));
        assert_eq!(signing.check(&claim, &body[1..]), Err(Unproven::Forged));
        assert_eq!(Signing::new("8f74").check(&claim, body), Err(Unproven::Forged));
        assert_eq!(Claim::of(&headers, at(1_531_420_919)).unwrap_err(), Unproven::Old);
        assert_eq!(Claim::of(&headers, at(1_531_420_317)).unwrap_err(), Unproven::Old);
        headers.insert(TIMESTAMP, "+1531420618".parse().unwrap());
        assert_eq!(Claim::of(&headers, at(1_531_420_618)).unwrap_err(), Unproven::Header(TIMESTAMP));
    }
}
