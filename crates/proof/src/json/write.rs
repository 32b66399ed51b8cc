//! The canonical form, byte for byte as Python writes it (P10).

use super::{Kind, Object, Value, float::write_float, text::find_special};

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

const HEX: [u8; 16] = *b"0123456789abcdef";

#[cfg(test)]
mod tests {
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
}
