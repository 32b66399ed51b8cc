//! The canonical form, byte for byte as Python writes it (P10).

use super::{Kind, Object, Value, text::find_special};

impl Value<'_> {
    /// Appends the canonical form.
    pub fn write_canonical(&self, bytes: &mut Vec<u8>) {
        match &self.kind {
            Kind::Null => bytes.extend_from_slice(b"null"),
            Kind::Bool(true) => bytes.extend_from_slice(b"true"),
            Kind::Bool(false) => bytes.extend_from_slice(b"false"),
            Kind::Integer(digits) => bytes.extend_from_slice(digits.as_bytes()),
            Kind::Float(number) => write_float(*number, bytes),
            Kind::String(text) => write_text(text, bytes),
            Kind::Array(elements) => write_array(elements, bytes),
            Kind::Object(object) => write_object(object, bytes),
        }
    }
}

/// Appends a string in quotes, with no escape that is not needed.
pub(crate) fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = find_special(rest) {
        bytes.extend_from_slice(&rest[..plain]);
        write_escape(rest[plain], bytes);
        rest = &rest[plain + 1..];
    }
    bytes.extend_from_slice(rest);
    bytes.push(b'"');
}

fn write_escape(byte: u8, bytes: &mut Vec<u8>) {
    let short = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        b'"' | b'\\' => byte,
        control => {
            let [high, low] = [control >> 4, control & 15].map(|digit| HEX[usize::from(digit)]);
            return bytes.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    bytes.extend_from_slice(&[b'\\', short]);
}

fn write_array(elements: &[Value<'_>], bytes: &mut Vec<u8>) {
    bytes.push(b'[');
    for (place, element) in elements.iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        element.write_canonical(bytes);
    }
    bytes.push(b']');
}

fn write_object(object: &Object<'_>, bytes: &mut Vec<u8>) {
    bytes.push(b'{');
    for (place, entry) in object.entries().iter().enumerate() {
        if place > 0 {
            bytes.push(b',');
        }
        write_text(&entry.key, bytes);
        bytes.push(b':');
        entry.value.write_canonical(bytes);
    }
    bytes.push(b'}');
}

/// Appends a finite float as Python's `repr` does.
///
/// The digits are the fewest that read back as the same float, and of those the nearest; Python writes them plainly where
/// the point stands within [-3, 16], with an exponent of two digits or more elsewhere.
pub(super) fn write_float(number: f64, bytes: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    let decimal = Decimal::read(buffer.format_finite(number));
    if number.is_sign_negative() {
        bytes.push(b'-');
    }
    decimal.write(bytes);
}

/// Digits without leading or trailing zeros, and where the point stands among them: 0.0015 is 15 and -2.
struct Decimal {
    digits: [u8; DIGITS_MAX],
    count: usize,
    point: i32,
}

impl Decimal {
    /// Takes apart whatever notation the digits come in.
    fn read(text: &str) -> Self {
        let text = text.trim_start_matches('-');
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().expect("an exponent is a small integer");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = [b'0'; DIGITS_MAX];
        let mut count = 0;
        let mut point = exponent + i32::try_from(whole.len()).expect("a float has few digits");
        for digit in whole.bytes().chain(fraction.bytes()) {
            if count == 0 && digit == b'0' {
                point -= 1;
                continue;
            }
            digits[count] = digit;
            count += 1;
        }
        while count > 0 && digits[count - 1] == b'0' {
            count -= 1;
        }
        Self { digits, count, point }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let digits = &self.digits[..self.count];
        match self.point {
            _ if digits.is_empty() => bytes.extend_from_slice(b"0.0"),
            point @ 1..=16 => write_plain(digits, usize::try_from(point).expect("it is positive"), bytes),
            point @ -3..=0 => {
                bytes.extend_from_slice(b"0.");
                bytes.extend(std::iter::repeat_n(b'0', usize::try_from(-point).expect("it is not positive")));
                bytes.extend_from_slice(digits);
            }
            point => write_scientific(digits, point - 1, bytes),
        }
    }
}

fn write_plain(digits: &[u8], point: usize, bytes: &mut Vec<u8>) {
    let (whole, fraction) = digits.split_at(point.min(digits.len()));
    bytes.extend_from_slice(whole);
    bytes.extend(std::iter::repeat_n(b'0', point - whole.len()));
    bytes.push(b'.');
    bytes.extend_from_slice(if fraction.is_empty() { b"0" } else { fraction });
}

fn write_scientific(digits: &[u8], exponent: i32, bytes: &mut Vec<u8>) {
    let (first, rest) = digits.split_at(1);
    bytes.extend_from_slice(first);
    if !rest.is_empty() {
        bytes.push(b'.');
        bytes.extend_from_slice(rest);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    bytes.extend_from_slice(format!("e{sign}{:02}", exponent.abs()).as_bytes());
}

const HEX: [u8; 16] = *b"0123456789abcdef";

/// No notation of a float's digits is longer: seventeen digits, and zeros to fill up.
const DIGITS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical;

    /// P10: the rule's own examples.
    #[test]
    fn documents_are_written_as_python_writes_them() {
        for (document, form) in [
            (r#"{ "b" : [ 1 , true , null ] , "a" : {} }"#, r#"{"a":{},"b":[1,true,null]}"#),
            ("[-0, -0.0, 0.0, 1e16, 1E5, 1e-5]", "[0,-0.0,0.0,1e+16,100000.0,1e-05]"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (r#""\u0000\u0008\u0009\u000a\u000b\u000c\u000d\u001f""#, r#""\u0000\b\t\n\u000b\f\r\u001f""#),
            (r#""\/\u007f\u00e9\ud83d\ude00\u2028\"\\""#, "\"/\u{7f}\u{e9}\u{1f600}\u{2028}\\\"\\\\\""),
            (r#"{"\ud800\udc00":1,"\uffff":2,"":3}"#, "{\"\":3,\"\u{ffff}\":2,\"\u{10000}\":1}"),
            (r#"{"a":1,"B":2,"aa":3,"a\u0000":4}"#, "{\"B\":2,\"a\":1,\"a\\u0000\":4,\"aa\":3}"),
        ] {
            assert_eq!(String::from_utf8(canonical(document.as_bytes()).unwrap()).unwrap(), form);
        }
    }

    fn written(number: f64) -> String {
        let mut bytes = Vec::new();
        write_float(number, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    /// P10: floats as Python's repr.
    #[test]
    fn floats_are_spelled_as_python_does() {
        for text in [
            "0.0",
            "-0.0",
            "1.0",
            "-1.5",
            "0.1",
            "0.0001",
            "0.00012",
            "1e-05",
            "1.5e-05",
            "123456.789",
            "1e+16",
            "1000000000000000.0",
            "9007199254740993.0",
            "1.2345678901234568e+16",
            "9999999999999998.0",
            "1e+22",
            "1e+100",
            "5e-324",
            "2.2250738585072014e-308",
            "2.225073858507201e-308",
            "1.7976931348623157e+308",
            "1e-07",
            "1.2e-10",
            "3.141592653589793",
            "9.5367431640625e-07",
            "2e-44",
            "123456789012345.6",
        ] {
            let number: f64 = text.parse().unwrap();
            let expected = if text == "9007199254740993.0" { "9007199254740992.0" } else { text };
            assert_eq!(written(number), expected);
        }
    }
}
