//! Reads the JSON of a fragment straight into its parts, without a tree in between.

use super::Frames;
use crate::{
    json::{member_text, members, skip_value},
    number::{Number, NumberTree, Others},
    paths::{Paths, TOP},
    range::FrameRange,
    time_order::Moment,
};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::{cell::RefCell, fmt, marker::PhantomData};

/// The fields of a fragment before they are checked.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) frame_range: Option<FrameRange>,
    pub(super) chunk: Option<u64>,
    pub(super) worker: Option<Box<str>>,
    pub(super) replay: bool,
    pub(super) statistics: Vec<(u32, Number)>,
    pub(super) is_estimated: bool,
    pub(super) frames: Frames,
    pub(super) paths: Paths,
    pub(super) cameras: Option<Box<str>>,
    pub(super) validation_summary: Option<Box<str>>,
}

/// Reads the outermost object and keeps the name of the current field for error messages.
pub(super) struct Reader<'a> {
    pub(super) field: &'a RefCell<String>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Draft, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the fields of a fragment")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Draft, A::Error> {
        let mut draft = Draft::default();
        members(&mut map, |key, map| {
            self.enter(key);
            draft.read_member(key, map)
        })?;
        Ok(draft)
    }
}

impl Reader<'_> {
    /// Keeps the name of a field. Keys come from outside: only their beginning is kept, without control characters.
    fn enter(&self, key: &str) {
        let mut field = self.field.borrow_mut();
        field.clear();
        field.extend(key.chars().take(FIELD_CHARS_MAX).flat_map(char::escape_debug));
    }
}

impl Draft {
    fn read_member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let Self { statistics, is_estimated, frames, paths, .. } = self;
        match key {
            "frameRange" => self.frame_range = Some(map.next_value()?),
            "globalIdChunkId" => self.chunk = Some(map.next_value()?),
            "workerId" => self.worker = map.next_value()?,
            "replay" => self.replay = map.next_value::<Option<bool>>()?.unwrap_or(false),
            "statistics" => {
                let take = |path, value| statistics.push((path, value));
                *is_estimated = map.next_value_seed(Statistics { paths, take })?;
            }
            "frames" => map.next_value_seed(FrameList { frames, paths })?,
            "cameras" => self.cameras = member_text(map)?,
            "validationSummary" => self.validation_summary = member_text(map)?,
            _ => skip_value(map)?,
        }
        Ok(())
    }
}

/// An object of numbers and of objects of numbers (S21). The result says whether it calls itself estimated.
struct Statistics<'a, T> {
    paths: &'a mut Paths,
    take: T,
}

impl<'de, T: FnMut(u32, Number)> DeserializeSeed<'de> for Statistics<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: FnMut(u32, Number)> Visitor<'de> for Statistics<'_, T> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of numbers")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        let mut is_estimated = false;
        members(&mut map, |key, map| {
            if key == ESTIMATED {
                is_estimated = map.next_value()?;
            } else {
                let path = self.paths.number(TOP, key);
                let (paths, take) = (&mut *self.paths, &mut self.take);
                map.next_value_seed(NumberTree { paths, path, take, others: Others::Refuse })?;
            }
            Ok(())
        })?;
        Ok(is_estimated)
    }
}

struct FrameList<'a> {
    frames: &'a mut Frames,
    paths: &'a mut Paths,
}

impl<'de> DeserializeSeed<'de> for FrameList<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FrameList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of frames")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { frames, paths } = self;
        while items.next_element_seed(OneFrame { frames, paths })?.is_some() {}
        Ok(())
    }
}

struct OneFrame<'a> {
    frames: &'a mut Frames,
    paths: &'a mut Paths,
}

impl<'de> DeserializeSeed<'de> for OneFrame<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneFrame<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a frame")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { frames, paths } = self;
        let (mut id, mut moment): (Option<u64>, Option<Moment>) = (None, None);
        members(&mut map, |key, map| {
            match key {
                "frameId" | "frame_id" => {
                    let found: u64 = map.next_value()?;
                    if let Some(other) = id.replace(found).filter(|other| *other != found) {
                        return Err(A::Error::custom(format_args!(
                            "frameId and frame_id differ: {other} and {found}"
                        )));
                    }
                }
                "timestamp" => moment = map.next_value_seed(PhantomData::<Option<Moment>>)?,
                "statistics" => {
                    let take = |path, value| frames.push_value(path, value);
                    let is_estimated = map.next_value_seed(Statistics { paths: &mut *paths, take })?;
                    frames.is_estimated |= is_estimated;
                }
                _ => skip_value(map)?,
            }
            Ok(())
        })?;
        frames.push(id.ok_or_else(|| A::Error::missing_field("frameId"))?, moment);
        Ok(())
    }
}

/// The one member of statistics that is a boolean: true if they are not exact.
pub(crate) const ESTIMATED: &str = "estimated";
const FIELD_CHARS_MAX: usize = 64;
