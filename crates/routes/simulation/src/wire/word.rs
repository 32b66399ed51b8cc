//! The words that parameters may take.

use muster_http::schema::{one_of, schema};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// Where a session stands (S26).
#[derive(Clone, Copy, Debug)]
pub struct SessionStatusWord;

/// What became of granted ids (S13).
#[derive(Clone, Copy, Debug)]
pub struct ChunkStateWord;

impl PartialSchema for SessionStatusWord {
    fn schema() -> RefOr<Schema> {
        schema(one_of(&crate::translate::SESSION_WORDS))
    }
}

impl PartialSchema for ChunkStateWord {
    fn schema() -> RefOr<Schema> {
        schema(one_of(&crate::translate::CHUNK_WORDS))
    }
}

impl ToSchema for SessionStatusWord {}
impl ToSchema for ChunkStateWord {}
