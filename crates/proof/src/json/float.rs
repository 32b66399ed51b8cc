//! Floats as Python spells them.

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

/// No notation of a float's digits is longer: seventeen digits, and zeros to fill up.
const DIGITS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

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
