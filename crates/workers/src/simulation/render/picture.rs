//! One frame of the built-in renderer: a picture, its labels, its poses.

use super::synthetic::Dice;
use muster_worker_kit::png;
use serde_json::{Value, json};

/// What was made of one frame.
pub(super) struct Frame {
    pub(super) id: u64,
    pub(super) timestamp_ms: u64,
    /// The persons in it.
    pub(super) persons: Vec<u64>,
    figures: Vec<Figure>,
    dice: Dice,
}

/// Where a person stands, in pixels.
struct Figure {
    left: u32,
    top: u32,
    height: u32,
}

impl Frame {
    /// Puts persons into a frame. Where they stand follows from the session and the frame alone.
    pub(super) fn new(session: &str, id: u64, timestamp_ms: u64, persons: Vec<u64>) -> Self {
        let mut dice = Dice::of(session, id);
        let mut figure = || {
            let height = 8 + dice.below(9);
            Figure { left: dice.below(WIDTH - height / 2), top: dice.below(HEIGHT - height), height }
        };
        let figures = persons.iter().map(|_| figure()).collect();
        Self { id, timestamp_ms, persons, figures, dice }
    }

    /// The frame's name; eight digits or more, so that names sort like numbers.
    pub(super) fn name(&self) -> String {
        format!("{:08}", self.id)
    }

    /// A PNG file: a sky, a ground, and a bright box for each person.
    pub(super) fn picture(&self) -> Vec<u8> {
        let mut dice = self.dice.clone();
        let horizon = HEIGHT / 3 + dice.below(HEIGHT / 4);
        let mut pixels = Vec::with_capacity((WIDTH * HEIGHT) as usize);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let ground = if y < horizon { 150 - y } else { 60 + dice.below(12) };
                let is_person = self.figures.iter().any(|figure| figure.covers(x, y));
                pixels.push(if is_person { 235 } else { u8::try_from(ground).unwrap_or(u8::MAX) });
            }
        }
        png::grey(WIDTH, HEIGHT, &pixels)
    }

    /// Who is where (JSON).
    pub(super) fn labels(&self, session: &str) -> Value {
        let persons = self.persons.iter().zip(&self.figures);
        let persons = persons.map(|(id, figure)| json!({"id": id, "box": figure.bounds()}));
        json!({
            "sessionId": session,
            "frameId": self.id,
            "timestamp": self.timestamp_ms,
            "image": format!("frames/{}.png", self.name()),
            "persons": persons.collect::<Vec<_>>(),
        })
    }

    /// How they stand (JSON).
    pub(super) fn poses(&self) -> Value {
        let persons = self.persons.iter().zip(&self.figures);
        let poses = persons.map(|(id, figure)| json!({"personId": id, "keypoints": figure.joints()}));
        json!({"frameId": self.id, "timestamp": self.timestamp_ms, "poses": poses.collect::<Vec<_>>()})
    }
}

impl Figure {
    const fn width(&self) -> u32 {
        self.height / 2
    }

    fn covers(&self, x: u32, y: u32) -> bool {
        (self.left..self.left + self.width()).contains(&x) && (self.top..self.top + self.height).contains(&y)
    }

    const fn bounds(&self) -> [u32; 4] {
        [self.left, self.top, self.width(), self.height]
    }

    /// Head, hip, and the two feet.
    const fn joints(&self) -> [[u32; 2]; 4] {
        let (middle, bottom) = (self.left + self.width() / 2, self.top + self.height - 1);
        [
            [middle, self.top],
            [middle, self.top + self.height / 2],
            [self.left, bottom],
            [self.left + self.width() - 1, bottom],
        ]
    }
}

const WIDTH: u32 = 64;
const HEIGHT: u32 = 36;

#[cfg(test)]
mod tests {
    use super::*;

    /// S27: the same frame of the same session is the same picture, whoever renders it with whatever ids.
    #[test]
    fn a_frame_follows_from_session_and_number() {
        let frame = |session: &str, id, first| Frame::new(session, id, 0, vec![first, first + 1]);
        assert_eq!(frame("demo", 7, 1).picture(), frame("demo", 7, 500).picture());
        assert_ne!(frame("demo", 7, 1).picture(), frame("demo", 8, 1).picture());
        assert_ne!(frame("demo", 7, 1).picture(), frame("other", 7, 1).picture());
        assert_eq!(frame("demo", 7, 9).labels("demo")["persons"][1]["id"], 10);
    }

    /// S21: frame files are named by their frameId.
    #[test]
    fn names_sort_like_numbers() {
        let name = |id| Frame::new("demo", id, 0, Vec::new()).name();
        assert_eq!((name(7), name(123_456_789)), ("00000007".to_owned(), "123456789".to_owned()));
    }
}
