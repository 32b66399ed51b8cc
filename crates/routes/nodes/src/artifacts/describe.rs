//! Puts into the description of the interface what settings allow.

use super::ArtifactSettings;
use utoipa::openapi::{Object, OpenApi, RefOr, Schema};

/// Says which types and sizes a node may announce.
pub(super) fn allow_only(openapi: &mut OpenApi, settings: &ArtifactSettings) {
    let schemas = openapi.components.as_mut().map(|components| &mut components.schemas);
    let request = schemas.and_then(|schemas| schemas.get_mut("ArtifactRequest"));
    let Some(RefOr::T(Schema::Object(request))) = request else {
        return;
    };
    if let Some(content_type) = property(request, "content_type") {
        content_type.enum_values = Some(settings.types.iter().map(|name| name.as_str().into()).collect());
    }
    if let Some(size) = property(request, "size") {
        size.maximum = i64::try_from(settings.size_max_bytes).ok().map(Into::into);
    }
}

fn property<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    match of.properties.get_mut(name) {
        Some(RefOr::T(Schema::Object(property))) => Some(property),
        _ => None,
    }
}
