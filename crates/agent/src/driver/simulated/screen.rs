//! What a simulated device shows: its number, large, and under it a dot for each attempt.

use muster_worker_kit::png;

const WIDTH: usize = 54;
const HEIGHT: usize = 96;
/// A pixel of a digit is so many of the screen.
const SCALE: usize = 3;
const DIGIT: (usize, usize) = (3, 5);

/// The screen of a device as a PNG file; the same for the same device and attempt.
pub(super) fn draw(device: &str, attempt: u32) -> Vec<u8> {
    let mut screen = Screen::of(device);
    let digits: Vec<usize> =
        device.chars().filter_map(|sign| sign.to_digit(10)).map(|digit| digit as usize).collect();
    let shown = digits.get(digits.len().saturating_sub(4)..).unwrap_or_default();
    let left = (WIDTH - shown.len() * (DIGIT.0 + 1) * SCALE) / 2;
    for (place, digit) in shown.iter().enumerate() {
        screen.digit((left + place * (DIGIT.0 + 1) * SCALE, 36), *digit);
    }
    for dot in 0..(attempt as usize).min(8) {
        screen.fill((5 + dot * 6, 70), (4, 4), INK);
    }
    png::grey(WIDTH as u32, HEIGHT as u32, &screen.pixels)
}

struct Screen {
    pixels: Vec<u8>,
}

impl Screen {
    /// A background that shades from above, in a tone of the device's own, with a bar on top.
    fn of(device: &str) -> Self {
        let tone = 150 + device.bytes().fold(0_usize, |sum, byte| (sum * 31 + usize::from(byte)) % 70);
        let shade = |place: usize| u8::try_from(tone - (place / WIDTH) / 3).unwrap_or(u8::MAX);
        let mut screen = Self { pixels: (0..WIDTH * HEIGHT).map(shade).collect() };
        screen.fill((0, 0), (WIDTH, 8), INK);
        screen
    }

    fn digit(&mut self, (x, y): (usize, usize), digit: usize) {
        for place in 0..DIGIT.0 * DIGIT.1 {
            let is_set =
                DIGITS.get(digit).is_some_and(|rows| rows >> (DIGIT.0 * DIGIT.1 - 1 - place) & 1 == 1);
            if is_set {
                let (column, row) = (place % DIGIT.0, place / DIGIT.0);
                self.fill((x + column * SCALE, y + row * SCALE), (SCALE, SCALE), INK);
            }
        }
    }

    fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), shade: u8) {
        for row in y..(y + height).min(HEIGHT) {
            let line = row * WIDTH;
            self.pixels[line + x.min(WIDTH)..line + (x + width).min(WIDTH)].fill(shade);
        }
    }
}

const INK: u8 = 30;
/// Three columns by five rows each, from the upper left.
const DIGITS: [u16; 10] = [
    0b111_101_101_101_111,
    0b010_110_010_010_111,
    0b111_001_111_100_111,
    0b111_001_111_001_111,
    0b101_101_111_001_001,
    0b111_100_111_001_111,
    0b111_100_111_101_111,
    0b111_001_010_010_010,
    0b111_101_111_101_111,
    0b111_101_111_001_111,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// N23: devices are told apart by their pictures, and nothing else makes them differ.
    #[test]
    fn a_picture_is_the_devices_own() {
        assert_eq!(draw("sim-0042", 1), draw("sim-0042", 1));
        assert_ne!(draw("sim-0042", 1), draw("sim-0043", 1));
        assert_ne!(draw("sim-0042", 1), draw("sim-0042", 2));
        for device in ["", "x", "999999999999", "sim-0001"] {
            assert!(draw(device, u32::MAX).starts_with(b"\x89PNG"));
        }
    }
}
