//! The smallest writer of PNG files that any reader takes.

/// Writes a picture of 8-bit shades of grey, row by row.
///
/// The data are stored, not compressed: that costs a few bytes of disk for small pictures, and hardly any time.
#[must_use]
pub fn grey(width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let row_bytes = usize::try_from(width).expect("a width fits in memory");
    let mut rows = Vec::with_capacity(pixels.len() + pixels.len() / row_bytes.max(1));
    for row in pixels.chunks(row_bytes.max(1)) {
        rows.push(NO_FILTER);
        rows.extend_from_slice(row);
    }
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    header.extend_from_slice(&[8, GREY, 0, 0, 0]);
    let mut file = SIGNATURE.to_vec();
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &zlib(&rows));
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a chunk is small");
    file.extend_from_slice(&length.to_be_bytes());
    let from = file.len();
    file.extend_from_slice(&kind);
    file.extend_from_slice(data);
    let sum = crc32fast::hash(file.get(from..).unwrap_or_default());
    file.extend_from_slice(&sum.to_be_bytes());
}

/// A zlib stream of stored blocks.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("chunks are no longer than that");
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(data).to_be_bytes());
    stream
}

fn adler32(data: &[u8]) -> u32 {
    let step = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    };
    let (a, b) = data.iter().fold((1, 0), step);
    b << 16 | a
}

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const GREY: u8 = 0;
const NO_FILTER: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::Write,
        process::{Command, Stdio},
    };

    /// Reads a PNG with nothing but python's zlib; prints width, height, and the pixels as hex.
    const READER: &str = "
import sys, struct, zlib
data = sys.stdin.buffer.read()
assert data[:8] == b'\\x89PNG\\r\\n\\x1a\\n'
at, idat = 8, b''
while at < len(data):
    length, kind = struct.unpack('>I4s', data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    assert struct.unpack('>I', data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
    if kind == b'IHDR': width, height, depth, colour = struct.unpack('>IIBB', body[:10])
    if kind == b'IDAT': idat += body
    at += 12 + length
assert kind == b'IEND' and (depth, colour) == (8, 0)
rows = zlib.decompress(idat)
assert len(rows) == height * (width + 1)
rows = [rows[y * (width + 1):(y + 1) * (width + 1)] for y in range(height)]
assert all(row[0] == 0 for row in rows)
print(width, height, b''.join(row[1:] for row in rows).hex())
";

    /// S27: what is written are real pictures, also when they need more than one block.
    #[test]
    fn others_read_the_same_pixels() {
        for (width, height) in [(64_u32, 36_u32), (1, 1), (400, 300)] {
            let pixels: Vec<u8> = (0..width * height).map(|n| n.to_le_bytes()[0] ^ 0x5a).collect();
            let mut python = Command::new("python3");
            let mut python =
                python.args(["-c", READER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            python.stdin.take().unwrap().write_all(&grey(width, height, &pixels)).unwrap();
            let said = String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap();
            let hex: String = pixels.iter().map(|byte| format!("{byte:02x}")).collect();
            assert!(said.trim() == format!("{width} {height} {hex}"), "{width}×{height}");
        }
    }
}
