//! Wire types of uploads and links (N21).

use super::value;
use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema, schema::Type},
};

/// A node's request for an address to upload to.
#[derive(Debug, ToSchema)]
pub struct ArtifactRequest {
    /// Who asks.
    #[schema(schema_with = name)]
    pub node_id: String,
    /// The task that left the file behind.
    #[schema(schema_with = text)]
    pub task_id: String,
    /// Its attempt, which must be the live one.
    #[schema(schema_with = attempt)]
    pub attempt: u16,
    /// The proof of that attempt's lease.
    #[schema(schema_with = text)]
    pub lease_token: String,
    /// Such as `screenshot`.
    #[schema(schema_with = name)]
    pub kind: String,
    /// Such as `image/png`.
    #[schema(schema_with = text)]
    pub content_type: String,
    /// Exactly so many bytes will come.
    #[schema(schema_with = size)]
    pub size: u64,
    /// What the content hashes to; the upload must then match.
    #[schema(schema_with = sha256, required = false)]
    pub sha256: Option<String>,
    /// Tells several files of one kind and attempt apart.
    #[schema(schema_with = opt_name, required = false)]
    pub name: Option<String>,
    /// A template for the path: `{youtubeVideoId}`, `{node_id}`, `{device_id}`, `{run_id}`, `{timestamp}`, `{task_id}`,
    /// `{attempt}`, `{kind}`, `{name}` and `{ext}` are put in.
    #[schema(schema_with = template, required = false)]
    pub storage_path: Option<String>,
}

/// The URLs of one upload.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct UploadOffer {
    /// `PUT` the file here. Carries its own proof; a secret until it expires.
    pub upload_url: String,
    /// Where the coordinator keeps it.
    pub storage_path: String,
    /// Opens the file without a token for `artifacts.public_url_days`; with 0 days it needs an operator's token.
    pub public_url: String,
    /// When `upload_url` expires, epoch milliseconds.
    pub expires_at: i64,
}

/// A link to one file.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ArtifactLink {
    /// Opens the file. Carries its own signature unless `expires_at` is null.
    pub public_url: String,
    /// When the link expires, epoch milliseconds; null where links are off: then it needs an operator's token.
    pub expires_at: Option<i64>,
}

/// What is kept of an upload that is complete.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Uploaded {
    /// Where the coordinator keeps it.
    pub storage_path: String,
    /// Bytes.
    pub size: u64,
    /// Of the content, in hexadecimal digits.
    pub sha256: String,
}

/// What is kept of an upload so far.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct UploadedPart {
    /// Where the coordinator will keep it.
    pub storage_path: String,
    /// Bytes that are there; the next one goes after them.
    pub offset: u64,
}

fn name() -> RefOr<Schema> {
    value::schema(value::name())
}

fn opt_name() -> RefOr<Schema> {
    value::schema(value::name_or_null())
}

fn text() -> RefOr<Schema> {
    value::schema(value::text())
}

fn attempt() -> RefOr<Schema> {
    value::schema(value::between(1, 65_535))
}

fn size() -> RefOr<Schema> {
    value::schema(value::whole())
}

fn sha256() -> RefOr<Schema> {
    let hash = value::text().schema_type(value::nullable(Type::String));
    value::schema(hash.max_length(Some(64)).pattern(Some("^[0-9a-fA-F]{64}$")))
}

fn template() -> RefOr<Schema> {
    let template = value::text().schema_type(value::nullable(Type::String));
    value::schema(template.min_length(Some(1)).max_length(Some(512)).pattern(Some(TEMPLATE_PATTERN)))
}

/// Components without a leading dot, of plain characters and known placeholders.
const TEMPLATE_PATTERN: &str = concat!(
    r"^(?!\.)(?:[A-Za-z0-9._-]|\{(?:youtubeVideoId|node_id|device_id|run_id|timestamp|task_id|attempt|kind|name|ext)\})+",
    r"(?:/(?!\.)(?:[A-Za-z0-9._-]|\{(?:youtubeVideoId|node_id|device_id|run_id|timestamp|task_id|attempt|kind|name|ext)\})+)*$",
);
