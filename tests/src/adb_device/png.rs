//! A picture, made by hand: a PNG whose pixels are stored as they are.

/// A picture of noise, so large that it takes many messages to send.
pub(super) fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut pixels = Vec::new();
    for _ in 0..HEIGHT {
        let row = (0..WIDTH * 3).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        });
        // A row begins with the number of its filter: none.
        pixels.extend(std::iter::once(0).chain(row));
    }
    let mut header = Vec::new();
    header.extend(WIDTH.to_be_bytes());
    header.extend(HEIGHT.to_be_bytes());
    // Eight bits a channel, red green blue, the one compression, the one filter, no interlacing.
    header.extend([8, 2, 0, 0, 0]);
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(*b"IHDR", &header),
        chunk(*b"IDAT", &zlib(&pixels)),
        chunk(*b"IEND", &[]),
    ]
    .concat()
}

fn chunk(name: [u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&name, data].concat();
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], &body, &crc32(&body).to_be_bytes()].concat()
}

/// Stored blocks of deflate, in the envelope of zlib.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap();
        bytes.push(u8::from(blocks.peek().is_none()));
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend_from_slice(block);
    }
    bytes.extend(adler32(data).to_be_bytes());
    bytes
}

fn crc32(data: &[u8]) -> u32 {
    let shifted = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc)))
}

fn adler32(data: &[u8]) -> u32 {
    let step = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    };
    let (a, b) = data.iter().fold((1, 0), step);
    (b << 16) | a
}

const WIDTH: u32 = 240;
const HEIGHT: u32 = 160;
