//! The forms in which values stand in columns.
//!
//! A column stores [`Text`], [`Number`] or [`Bytes`]. The type of a field and the storage of its column together tell the
//! form, so the declaration of a table names the storage and nothing else.

use crate::{
    id_text::parse_hex,
    rows::{json, report},
    shape::Kind,
    sql::{Fault, Row, Value},
};
use muster_model::{
    AlertKind, AssignmentId, AssignmentState, Attachment, BatchPlace, ChunkState, DiagnosticKind, Digest,
    EntryId, Fence, FrameTaskId, FrameTaskStatus, HexText, JobId, JobOutcome, JobStatus, JobText, Labels,
    LaneStatus, LeaseKind, LogKind, Millis, Missed, Name, PoolJobId, PoolJobStatus, PoolWorkerId,
    PoolWorkerStatus, Recorded, Removal, RendererState, ReportId, ReportType, Role, Roles, ScheduleId, Scope,
    SessionId, SessionStatus, Specs, SubmissionKey, TaskId, TaskStatus, TaskText, Timestamp, UserId,
    WorkerLogKind, WorkerStatus,
};
use std::sync::Arc;

/// Columns of texts.
pub(crate) enum Text {}

/// Columns of whole numbers of 64 bits.
pub(crate) enum Number {}

/// Columns of bytes.
pub(crate) enum Bytes {}

/// Storage class of a column.
pub(crate) trait Storage {
    const KIND: Kind;
}

/// A value that a column of this storage can take.
pub(crate) trait ToColumn<S> {
    /// Gives the value as the next column of a row.
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault>;
}

/// A value that a column of this storage can give.
pub(crate) trait FromColumn<S>: Sized {
    /// The value of a column; `None`: the column cannot hold this.
    fn from_value(value: Value<'_>) -> Option<Self>;

    /// A value to test with, another one for each small number.
    #[cfg(feature = "conformance")]
    fn sample(n: u8) -> Self;
}

impl Storage for Text {
    const KIND: Kind = Kind::Text;
}

impl Storage for Number {
    const KIND: Kind = Kind::Integer;
}

impl Storage for Bytes {
    const KIND: Kind = Kind::Blob;
}

impl<S, T: ToColumn<S> + ?Sized> ToColumn<S> for &T {
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
        T::put(self, row)
    }
}

impl<S, T: ToColumn<S>> ToColumn<S> for Option<T> {
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
        match self {
            Some(value) => value.put(row),
            None => {
                row.value(Value::Null);
                Ok(())
            }
        }
    }
}

impl<S, T: FromColumn<S>> FromColumn<S> for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }

    #[cfg(feature = "conformance")]
    fn sample(n: u8) -> Self {
        (!n.is_multiple_of(3)).then(|| T::sample(n))
    }
}

/// Types as numbers: the number of a value, and the value of a number.
macro_rules! numbers {
    ($($type:ty: |$value:ident| $to:expr, |$number:ident| $from:expr;)*) => {$(
        impl ToColumn<Number> for $type {
            fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
                let $value = *self;
                row.value(Value::Integer($to));
                Ok(())
            }
        }

        impl FromColumn<Number> for $type {
            fn from_value(value: Value<'_>) -> Option<Self> {
                let Value::Integer($number) = value else { return None };
                $from
            }

            #[cfg(feature = "conformance")]
            fn sample(n: u8) -> Self {
                let numbers = [n, n % 2].map(|n| Value::Integer(n.into()));
                numbers.into_iter().find_map(Self::from_value).expect("every type has small numbers")
            }
        }
    )*};
}

numbers! {
    bool: |flag| flag.into(), |number| match number { 0 => Some(false), 1 => Some(true), _ => None };
    u8: |number| number.into(), |number| number.try_into().ok();
    u16: |number| number.into(), |number| number.try_into().ok();
    u32: |number| number.into(), |number| number.try_into().ok();
    u64: |number| integer(number)?, |number| number.try_into().ok();
    i64: |number| number, |number| Some(number);
    Timestamp: |at| at.0, |number| Some(Self(number));
    Millis: |span| span.0, |number| Some(Self(number));
    UserId: |id| integer(id.0)?, |number| number.try_into().ok().map(Self);
    PoolWorkerId: |id| integer(id.0)?, |number| number.try_into().ok().map(Self);
    PoolJobId: |id| integer(id.0)?, |number| number.try_into().ok().map(Self);
    AssignmentId: |id| integer(id.0)?, |number| number.try_into().ok().map(Self);
}

/// Types as texts: the text of a value, the value of a text, and a text for tests.
macro_rules! texts {
    ($($type:ty: |$value:ident| $to:expr, |$text:ident| $from:expr, $sample:literal;)*) => {$(
        impl ToColumn<Text> for $type {
            fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
                let $value = self;
                row.value(Value::Text($to));
                Ok(())
            }
        }

        impl FromColumn<Text> for $type {
            fn from_value(value: Value<'_>) -> Option<Self> {
                let Value::Text($text) = value else { return None };
                $from
            }

            #[cfg(feature = "conformance")]
            fn sample(n: u8) -> Self {
                <Self as FromColumn<Text>>::from_value(Value::Text(&format!($sample, n = n))).expect("the sample has the form")
            }
        }
    )*};
}

texts! {
    Box<str>: |text| text, |text| Some(text.into()), "\"텍스트\" '{n}'\n";
    Arc<str>: |text| text, |text| Some(text.into()), "\"텍스트\" '{n}'\n";
    Name: |name| name.as_str(), |text| Self::new(text).ok(), "이름 '{n}'";
    SessionId: |id| id.as_str(), |text| Self::new(text).ok(), "session-{n}";
    SubmissionKey: |key| key.as_str(), |text| Self::new(text).ok(), "key {n}";
    ReportId: |id| id.as_str(), |text| Self::new(text).ok(), "report {n}";
    JobId: |id| JobText::new(*id).as_str(), |text| text.parse().ok(), "01890a5d-ac96-774b-bcce-b302099a80{n:02x}";
    TaskId: |id| TaskText::new(*id).as_str(), |text| text.parse().ok(), "01890a5d-ac96-774b-bcce-b302099a80{n:02x}.0000007";
    ScheduleId: |id| &id.to_string(), |text| text.parse().ok(), "01890a5d-ac96-774b-bcce-b302099a80{n:02x}";
    FrameTaskId: |id| &id.to_string(), |text| text.parse().ok(), "session-{n}.{n:08}";
    EntryId: |id| &id.to_string(), |text| text.parse().ok(), "worker-W{n}.session-{n}";
    Fence: |fence| HexText::from(*fence).as_str(), |text| text.parse().ok(), "{n:032x}";
    u128: |number| HexText::new(*number).as_str(), |text| parse_hex(text), "{n:032x}";
    Scope: |scope| &json::scope_text(scope), |text| json::parse_scope(text), "{{\"devices\":[\"기기 {n}\"]}}";
    Labels: |labels| &json::labels_text(labels), |text| json::parse_labels(text), "{{\"model\":\"S{n}\"}}";
    Vec<Name>: |names| &json::names_text(names), |text| json::parse_names(text), "[\"b{n}\",\"a{n}\"]";
    Vec<Timestamp>: |times| &json::times_text(times), |text| json::parse_times(text), "[{n},1]";
    Vec<SessionId>: |ids| &json::sessions_text(ids), |text| json::parse_sessions(text), "[\"b{n}\",\"a{n}\"]";
}

impl ToColumn<Text> for str {
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
        row.value(Value::Text(self));
        Ok(())
    }
}

/// Enums as their words.
macro_rules! words {
    ($($type:ty),* $(,)?) => {$(
        impl ToColumn<Text> for $type {
            fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
                self.as_str().put(row)
            }
        }

        impl FromColumn<Text> for $type {
            fn from_value(value: Value<'_>) -> Option<Self> {
                let Value::Text(word) = value else { return None };
                Self::from_word(word)
            }

            #[cfg(feature = "conformance")]
            fn sample(n: u8) -> Self {
                Self::ALL[usize::from(n) % Self::ALL.len()]
            }
        }
    )*};
}

words! {
    AlertKind, AssignmentState, Attachment, ChunkState, DiagnosticKind, FrameTaskStatus, JobOutcome, JobStatus,
    LaneStatus, LeaseKind, LogKind, Missed, PoolJobStatus, PoolWorkerStatus, Recorded, Removal, RendererState, ReportType,
    SessionStatus, TaskStatus, WorkerLogKind, WorkerStatus,
}

/// Words with a space between.
impl ToColumn<Text> for Roles {
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
        self.iter().map(Role::as_str).collect::<Vec<_>>().join(" ").as_str().put(row)
    }
}

impl FromColumn<Text> for Roles {
    fn from_value(value: Value<'_>) -> Option<Self> {
        let Value::Text(words) = value else { return None };
        words.split_whitespace().map(Role::from_word).collect()
    }

    #[cfg(feature = "conformance")]
    fn sample(n: u8) -> Self {
        Role::ALL.into_iter().filter(|role| n & (1 << *role as u8) != 0).collect()
    }
}

/// No qualities are no text.
impl ToColumn<Text> for Specs {
    fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
        json::specs_text(self).as_deref().put(row)
    }
}

impl FromColumn<Text> for Specs {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(Self::default()),
            Value::Text(text) => json::parse_specs(text),
            _ => None,
        }
    }

    #[cfg(feature = "conformance")]
    fn sample(n: u8) -> Self {
        json::parse_specs(&format!("[[\"gpus\",{n}],[\"os\",\"\\\"{n}\\\"\"]]")).expect("these are specs")
    }
}

/// Types as bytes: the bytes of a value, the value of bytes, and bytes for tests.
macro_rules! bytes {
    ($($type:ty: |$value:ident| $to:expr, |$bytes:ident| $from:expr, |$n:ident| $sample:expr;)*) => {$(
        impl ToColumn<Bytes> for $type {
            fn put(&self, row: &mut dyn Row) -> Result<(), Fault> {
                let $value = self;
                row.value(Value::Blob($to));
                Ok(())
            }
        }

        impl FromColumn<Bytes> for $type {
            fn from_value(value: Value<'_>) -> Option<Self> {
                let Value::Blob($bytes) = value else { return None };
                $from
            }

            #[cfg(feature = "conformance")]
            fn sample($n: u8) -> Self {
                <Self as FromColumn<Bytes>>::from_value(Value::Blob(&$sample)).expect("the sample has the form")
            }
        }
    )*};
}

bytes! {
    [u8; 32]: |bytes| bytes, |bytes| bytes.try_into().ok(), |n| [n; 32];
    u128: |number| &number.to_be_bytes(), |bytes| bytes.try_into().ok().map(Self::from_be_bytes), |n| [n; 16];
    Digest: |digest| &digest.0.to_be_bytes(), |bytes| bytes.try_into().ok().map(u128::from_be_bytes).map(Self), |n| [n; 16];
    Fence: |fence| &fence.0.to_be_bytes(), |bytes| bytes.try_into().ok().map(u128::from_be_bytes).map(Self), |n| [n; 16];
    ReportId: |id| report::ReportKey::new(id).as_bytes(), |bytes| report::ReportKey::id(bytes), |n| [b't', n % 64 + b' '];
    BatchPlace: |place| &place_bytes(place), |bytes| parse_place(bytes), |n| [[0, 0, 0, n].as_slice(), &[n; 4 + 64]].concat();
    report::StoredSubject: |subject| &subject.bytes(), |bytes| Self::parse(bytes), |n| [n % 5 + 1; 21];
}

/// Count and index as four bytes each, the highest first; then the hashes of the path.
fn place_bytes(place: &BatchPlace) -> Vec<u8> {
    let BatchPlace { count, index, path } = place;
    [&count.to_be_bytes()[..], &index.to_be_bytes(), path.as_flattened()].concat()
}

fn parse_place(bytes: &[u8]) -> Option<BatchPlace> {
    let (count, rest) = bytes.split_first_chunk()?;
    let (index, rest) = rest.split_first_chunk()?;
    let (path, rest) = rest.as_chunks();
    let place = BatchPlace {
        count: u32::from_be_bytes(*count),
        index: u32::from_be_bytes(*index),
        path: path.into(),
    };
    rest.is_empty().then_some(place)
}

/// A count as a column keeps it.
pub(crate) fn integer(count: u64) -> Result<i64, Fault> {
    i64::try_from(count).map_err(|_| Fault::corrupt(format!("{count} is more than a column can hold")))
}

/// A number to look for; one that no column can hold was never given, and neither was this.
pub(crate) fn sought_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(-1)
}
