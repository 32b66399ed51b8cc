//! Tables against the databases that have them: what is written is read back (feature `conformance`).

use crate::{
    column::FromColumn,
    record::{Record, Source, rows, write},
    rows::ROUND_TRIPS,
    sql::{Fault, Value, Whole},
};
use std::fmt::Debug;

/// Writes samples of every record that is read, and reads them back.
///
/// # Errors
/// When the database fails.
///
/// # Panics
/// When a record is read back as another.
pub fn round_trips(store: &mut dyn Whole) -> Result<(), Fault> {
    ROUND_TRIPS.iter().try_for_each(|round_trip| round_trip(store))
}

/// Writes samples of a record, and reads each back before the next.
pub(crate) fn round_trip<T: Record + Debug + PartialEq>(store: &mut dyn Whole) -> Result<(), Fault> {
    let table = T::TABLE.name;
    let sql = format!("SELECT {} FROM {}", T::OWN_COLUMNS, T::FROM);
    let mut written = 0;
    // Not all combinations of values are a record.
    for sample in (0..SAMPLES).filter_map(|n| T::build(&mut Samples { next: n }).ok()) {
        write(store.sink(), &sample)?;
        let there = rows(store.sql(), &sql, &[], T::read)?;
        assert!(there.contains(&sample), "{table}: {sample:?} is not among {there:?}");
        written += 1;
    }
    assert!(written > 0, "{table}: no sample is a record");
    let sql = format!("SELECT {} FROM {}", T::SHORT_COLUMNS, T::FROM);
    rows(store.sql(), &sql, &[], T::read)?;
    Ok(())
}

/// Values of no meaning, different ones in neighbouring columns.
struct Samples {
    next: u8,
}

impl Source for Samples {
    fn next<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault> {
        self.next += 1;
        Ok(T::sample(self.next))
    }

    fn joined<S, T: FromColumn<S>>(&mut self) -> Result<T, Fault> {
        Ok(T::from_value(Value::Null).expect("what is joined may be missing"))
    }
}

/// At least as many as any stored enum has words.
const SAMPLES: u8 = 12;
