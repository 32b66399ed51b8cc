//! Reads the numbers of nested objects, each with its path.

use crate::{
    json::{Opaque, members},
    number::Number,
    paths::Paths,
};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// A number, or an object of such trees. `take` gets each number with its path.
pub(crate) struct NumberTree<'a, T> {
    pub(crate) paths: &'a mut Paths,
    /// The path of this value.
    pub(crate) path: u32,
    pub(crate) take: &'a mut T,
    pub(crate) others: Others,
}

/// The treatment of values that are neither numbers nor objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Refuse,
    Skip,
}

impl<'de, T: FnMut(u32, Number)> DeserializeSeed<'de> for NumberTree<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: FnMut(u32, Number)> Visitor<'de> for NumberTree<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or an object of numbers")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        (self.take)(self.path, Number::Whole(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        (self.take)(self.path, Number::Negative(value));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom("number out of range"));
        }
        (self.take)(self.path, Number::Fraction(value));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { paths, path: parent, take, others } = self;
        members(&mut map, |key, map| {
            let path = paths.number(parent, key);
            map.next_value_seed(NumberTree { paths: &mut *paths, path, take: &mut *take, others })
        })
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.other(Unexpected::Unit)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.other(Unexpected::Bool(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.other(Unexpected::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.other(Unexpected::Seq)?;
        while items.next_element::<Opaque>()?.is_some() {}
        Ok(())
    }
}

impl<T: FnMut(u32, Number)> NumberTree<'_, T> {
    fn other<E: Error>(&self, found: Unexpected<'_>) -> Result<(), E> {
        match self.others {
            Others::Skip => Ok(()),
            Others::Refuse => Err(E::invalid_type(found, &"a number or an object of numbers")),
        }
    }
}
