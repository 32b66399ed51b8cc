//! The files as they were when the release was built.

use super::Asset;
use bytes::Bytes;
use std::{collections::BTreeMap, sync::LazyLock};

pub(super) fn read(name: &str) -> Option<Asset> {
    ASSETS.get(name).cloned()
}

/// By name; their tags are made once.
static ASSETS: LazyLock<BTreeMap<&str, Asset>> = LazyLock::new(|| {
    let asset = |(name, content): &(&'static str, &'static [u8])| {
        Some((*name, Asset::of(name, Bytes::from_static(content))?))
    };
    FILES.iter().filter_map(asset).collect()
});

include!(concat!(env!("OUT_DIR"), "/files.rs"));
