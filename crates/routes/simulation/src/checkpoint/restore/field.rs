//! Values of a checkpoint, each checked by itself.

use muster_contract_simulation::limit;
use muster_http::{Fields, Item, Problem};
use muster_manifest::is_worker_id;
use muster_model::{Digest, FrameRange, FrameTaskId, IdRange, Name, SessionId, Timestamp};
use serde_json::Value;
use std::ops::RangeInclusive;

/// A whole number within bounds.
pub(super) fn whole(fields: &Fields<'_>, key: &str, bounds: RangeInclusive<i64>) -> Result<u64, Problem> {
    fields.integer_in(key, bounds).map(i64::unsigned_abs)
}

/// A small whole number from `least` on.
pub(super) fn small(fields: &Fields<'_>, key: &str, least: i64) -> Result<u16, Problem> {
    let number = fields.integer_in(key, least..=i64::from(u16::MAX))?;
    Ok(u16::try_from(number).expect("checked to be small"))
}

/// A whole number up to `most`; 0 where it is missing.
pub(super) fn opt_whole(fields: &Fields<'_>, key: &str, most: i64) -> Result<u64, Problem> {
    Ok(fields.opt_integer_in(key, 0..=most)?.map_or(0, i64::unsigned_abs))
}

/// A small whole number; 0 where it is missing.
pub(super) fn opt_small(fields: &Fields<'_>, key: &str) -> Result<u16, Problem> {
    let number = opt_whole(fields, key, i64::from(u16::MAX))?;
    Ok(u16::try_from(number).expect("checked to be small"))
}

/// A moment that must be told.
pub(super) fn moment(fields: &Fields<'_>, key: &str) -> Result<Timestamp, Problem> {
    fields.required(key)?.timestamp()
}

/// A list that must be there.
pub(super) fn list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl Fn(&Item<'a>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    fields.items(key, LIST_MAX)?.iter().map(read).collect()
}

/// A list that may be missing.
pub(super) fn opt_list<'a, T>(
    fields: &Fields<'a>,
    key: &str,
    read: impl Fn(&Item<'a>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
    fields.opt_items(key, LIST_MAX)?.unwrap_or_default().iter().map(read).collect()
}

/// A text that is kept as it is.
pub(super) fn opt_text(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    Ok(fields.opt_text(key, TEXT_CHARS)?.map(Into::into))
}

/// `[start, end]`, half-open and not empty.
pub(super) fn pair(item: &Item<'_>, bounds: RangeInclusive<i64>) -> Result<(u64, u64), Problem> {
    let [start, end] = &item.items(2)?[..] else { return Err(item.refuse("must be [start, end]")) };
    let number = |item: &Item<'_>| item.integer_in(bounds.clone()).map(i64::unsigned_abs);
    let (start, end) = (number(start)?, number(end)?);
    if start < end { Ok((start, end)) } else { Err(item.refuse("must begin before it ends")) }
}

/// Frames of a session.
pub(super) fn frames(fields: &Fields<'_>, key: &str) -> Result<FrameRange, Problem> {
    let (start, end) = pair(&fields.required(key)?, 0..=limit::FRAMES)?;
    Ok(FrameRange { start, end })
}

/// `chunkId` and `range` of granted ids.
pub(super) fn ids(fields: &Fields<'_>) -> Result<IdRange, Problem> {
    let (start, end) = pair(&fields.required("range")?, 1..=i64::MAX)?;
    Ok(IdRange { chunk: whole(fields, "chunkId", 1..=i64::MAX)?, start, end })
}

/// What a worker is called.
pub(super) fn worker(item: &Item<'_>) -> Result<Name, Problem> {
    let name = item.name()?;
    if is_worker_id(name.as_str()) {
        Ok(name)
    } else {
        Err(item.refuse("must be what a worker may be called"))
    }
}

/// What a session is called.
pub(super) fn session(fields: &Fields<'_>, key: &str) -> Result<SessionId, Problem> {
    session_id(&fields.required(key)?)
}

/// What a session is called, in a list.
pub(super) fn session_id(item: &Item<'_>) -> Result<SessionId, Problem> {
    let id = SessionId::new(item.text(limit::ID_CHARS)?);
    id.map_err(|_| item.refuse("must be what a session may be called"))
}

/// What a task is called.
pub(super) fn task(item: &Item<'_>) -> Result<FrameTaskId, Problem> {
    let id = item.text(limit::ID_CHARS)?.parse();
    id.map_err(|_| item.refuse("must be a session's id, a dot and eight digits"))
}

/// A directory below the output root.
pub(super) fn directory(fields: &Fields<'_>, key: &str) -> Result<Box<str>, Problem> {
    let text = fields.text(key, limit::PATH_CHARS)?;
    match crate::output::session_way(text) {
        Ok(_) => Ok(text.into()),
        Err(error) => Err(fields.refuse(key, &format!("must be a session's directory: {error}"))),
    }
}

/// SHA-256 in lower-case hex.
pub(super) fn hash(item: &Item<'_>) -> Result<[u8; 32], Problem> {
    let text = item.text(64)?;
    let hash: Option<Vec<u8>> =
        lower_hex(text, 64).map(|text| text.as_bytes().chunks_exact(2).filter_map(byte).collect());
    let hash = hash.and_then(|bytes| bytes.try_into().ok());
    hash.ok_or_else(|| item.refuse("must be 64 hex digits in lower case"))
}

/// The first half of a SHA-256 in lower-case hex.
pub(super) fn digest(item: &Item<'_>) -> Result<Digest, Problem> {
    let digest = lower_hex(item.text(32)?, 32).and_then(|text| u128::from_str_radix(text, 16).ok());
    digest.map(Digest).ok_or_else(|| item.refuse("must be 32 hex digits in lower case"))
}

/// A text that holds a JSON object, and the object.
pub(super) fn object<'a>(item: &Item<'a>) -> Result<(&'a str, Value), Problem> {
    let text = item.text(OBJECT_CHARS)?;
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    Ok((text, object.ok_or_else(|| item.refuse("must be the text of a JSON object"))?))
}

/// A text that holds a JSON object, if any.
pub(super) fn opt_object(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    fields.optional(key).map(|item| object(&item).map(|(text, _)| text.into())).transpose()
}

/// Where tasks are pushed to.
pub(super) fn opt_endpoint(fields: &Fields<'_>, key: &str) -> Result<Option<Box<str>>, Problem> {
    let Some(text) = fields.opt_text(key, limit::ENDPOINT_CHARS)? else { return Ok(None) };
    let url = reqwest::Url::parse(text).ok();
    let is_url = url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if is_url { Ok(Some(text.into())) } else { Err(fields.refuse(key, "must be an http or https URL")) }
}

fn lower_hex(text: &str, len: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == len && text.bytes().all(is_digit)).then_some(text)
}

fn byte(two: &[u8]) -> Option<u8> {
    std::str::from_utf8(two).ok().and_then(|two| u8::from_str_radix(two, 16).ok())
}

/// More than fits a document of the largest size.
const LIST_MAX: usize = 100_000_000;
const TEXT_CHARS: usize = 64 * 1024;
const OBJECT_CHARS: usize = 64 << 20;
