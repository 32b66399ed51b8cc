//! The one spelling of bytes as text that is taken: base64url, with or without its padding (P8).

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// Error for text that is not canonical base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not canonical base64url")]
pub struct NotBase64Url;

/// Spells bytes without padding.
pub fn encode(bytes: &[u8]) -> String {
    BARE.encode(bytes)
}

/// Reads what [`encode`] writes, and the same with all of its padding.
///
/// Some of the padding is refused as well as too much, and so are bits that belong to no byte: else two texts would stand
/// for the same bytes, and whoever compares texts could be told that two keys differ.
pub fn decode(text: &str) -> Result<Vec<u8>, NotBase64Url> {
    let engine = if text.ends_with('=') { &PADDED } else { &BARE };
    engine.decode(text).map_err(|_| NotBase64Url)
}

const CONFIG: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_allow_trailing_bits(false);
const BARE: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG.with_decode_padding_mode(DecodePaddingMode::RequireNone));
const PADDED: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    CONFIG.with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P8: padding is optional, all of it or none.
    #[test]
    fn padding_is_there_or_not() {
        for (text, bytes) in
            [("", ""), ("YQ", "a"), ("YQ==", "a"), ("YWE", "aa"), ("YWE=", "aa"), ("YWFh", "aaa")]
        {
            assert_eq!(decode(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert_eq!(decode("-_-_").unwrap(), [0xfb, 0xff, 0xbf]);
    }

    /// P8: anything but the canonical form is refused.
    #[test]
    fn every_other_spelling_is_refused() {
        let wrong_padding =
            ["YQ=", "YWE==", "YWFh=", "YWFh====", "YQ===", "=", "==", "====", "YQ==YQ==", "Y=Q="];
        let trailing_bits = ["YR", "YR==", "YWF", "YWF=", "YWG="];
        let other_letters = ["+/+/", "Y Q", "YQ\n", " YQ", "YQ ", "YWF\u{e4}", "YWFh\0", "YW.h", "ＹＷＦｈ"];
        let too_short = ["Y", "YWFhY", "Y==="];
        for text in [&wrong_padding[..], &trailing_bits, &other_letters, &too_short].concat() {
            assert_eq!(decode(text), Err(NotBase64Url), "{text:?}");
        }
    }

    proptest! {
        /// P8: one text per row of bytes, but for its padding.
        #[test]
        fn what_is_read_is_written_the_same(text in "[A-Za-z0-9_=-]{0,20}", bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
            if let Ok(read) = decode(&text) {
                prop_assert_eq!(encode(&read), text.trim_end_matches('='));
            }
        }
    }
}
