//! Uploads and links (N21): a node's request for an upload URL, and what it and others get.

use muster_model::{Fence, Name, TaskId};
use muster_problem::{Fields, Problem, schema as value};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema, schema::Type},
};

/// A node's request for an address to upload to.
#[derive(Debug, Serialize, ToSchema)]
pub struct ArtifactRequest<'a> {
    /// Who asks.
    #[schema(schema_with = name)]
    pub node_id: &'a str,
    /// The task that left the file behind.
    #[schema(schema_with = text)]
    pub task_id: &'a str,
    /// Its attempt, which must be the live one.
    #[schema(schema_with = attempt)]
    pub attempt: u32,
    /// The proof of that attempt's lease.
    #[schema(schema_with = text, required = true)]
    pub lease_token: Option<&'a str>,
    /// Such as `screenshot`.
    #[schema(schema_with = name)]
    pub kind: &'a str,
    /// Such as `image/png`.
    #[schema(schema_with = text)]
    pub content_type: &'a str,
    /// Exactly so many bytes will come.
    #[schema(schema_with = size)]
    pub size: u64,
    /// What the content hashes to; the upload must then match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = sha256, required = false)]
    pub sha256: Option<&'a str>,
    /// Tells several files of one kind and attempt apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = opt_name, required = false)]
    pub name: Option<&'a str>,
    /// A template for the path: `{youtubeVideoId}`, `{node_id}`, `{device_id}`, `{run_id}`, `{timestamp}`, `{task_id}`,
    /// `{attempt}`, `{kind}`, `{name}` and `{ext}` are put in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = template, required = false)]
    pub storage_path: Option<&'a str>,
}

impl ArtifactRequest<'_> {
    /// Writes the body of the request.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are always JSON")
    }
}

/// An announced upload as the coordinator understands it.
#[derive(Clone, Debug)]
pub struct ArtifactOrder {
    /// The node.
    pub worker: Name,
    /// The task that left the file behind.
    pub task: TaskId,
    /// Its attempt.
    pub attempt: u16,
    /// The proof of that attempt's lease.
    pub fence: Fence,
    /// Such as `screenshot`.
    pub kind: Name,
    /// Tells several files of one kind and attempt apart.
    pub name: Option<Name>,
    /// A template for the path, not checked yet.
    pub template: Option<String>,
    /// In lower case, without parameters.
    pub content_type: String,
    /// Length of the file in bytes.
    pub size: u64,
    /// Hash of the content: 64 hexadecimal digits.
    pub sha256: Option<String>,
}

/// Limits on uploads.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    /// Media types, in lower case and without parameters.
    pub types: &'a [String],
    /// Size limit in bytes.
    pub size_max: u64,
}

/// Reads the body of `POST /api/nodes/artifacts`.
///
/// # Errors
/// 422 naming the field that is missing or wrong (N6).
pub fn read_artifact(body: &Value, allowed: Allowed<'_>) -> Result<ArtifactOrder, Problem> {
    let fields = Fields::of(body)?;
    let size_max = i64::try_from(allowed.size_max).unwrap_or(i64::MAX);
    let attempt = fields.integer_in("attempt", 1..=i64::from(u16::MAX));
    Ok(ArtifactOrder {
        worker: fields.name("node_id")?,
        // A text that is no id of ours names a task that does not exist: 404, not 422 (N6).
        task: fields.text("task_id", TEXT_CHARS_MAX)?.parse().unwrap_or(TaskId::NIL),
        attempt: u16::try_from(attempt?).unwrap_or(u16::MAX),
        fence: fields.text("lease_token", TEXT_CHARS_MAX)?.parse().unwrap_or(Fence(0)),
        kind: fields.name("kind")?,
        content_type: read_content_type(&fields, allowed.types)?,
        size: fields.integer_in("size", 0..=size_max)?.unsigned_abs(),
        sha256: read_sha256(&fields)?,
        name: fields.opt_name("name")?,
        template: fields.opt_text("storage_path", TEMPLATE_CHARS_MAX)?.map(str::to_owned),
    })
}

/// A media type in lower case and without its parameters.
#[must_use]
pub fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn read_content_type(fields: &Fields<'_>, types: &[String]) -> Result<String, Problem> {
    let given = essence(fields.text("content_type", TEXT_CHARS_MAX)?);
    if types.contains(&given) {
        return Ok(given);
    }
    Err(fields.refuse("content_type", &format!("must be one of {}", types.join(", "))))
}

fn read_sha256(fields: &Fields<'_>) -> Result<Option<String>, Problem> {
    let Some(text) = fields.opt_text("sha256", TEXT_CHARS_MAX)? else {
        return Ok(None);
    };
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Some(text.to_owned()));
    }
    Err(fields.refuse("sha256", "must be 64 hexadecimal digits"))
}

/// The URLs of one upload.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadOffer {
    /// `PUT` the file here. Carries its own proof; a secret until it expires.
    pub upload_url: String,
    /// Where the coordinator keeps it.
    pub storage_path: String,
    /// Opens the file without a token for `artifacts.public_url_days`; with 0 days it needs an operator's token.
    pub public_url: String,
    /// When `upload_url` expires, epoch milliseconds. A node does not look at it.
    #[serde(default, deserialize_with = "crate::not_needed")]
    #[schema(required = true)]
    pub expires_at: i64,
}

/// A link to one file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    value::schema(value::text(TEXT_CHARS_MAX))
}

fn attempt() -> RefOr<Schema> {
    value::schema(value::between(1, 65_535))
}

fn size() -> RefOr<Schema> {
    value::schema(value::whole())
}

fn sha256() -> RefOr<Schema> {
    let hash = value::text(TEXT_CHARS_MAX).schema_type(value::nullable(Type::String));
    value::schema(hash.max_length(Some(64)).pattern(Some("^[0-9a-fA-F]{64}$")))
}

fn template() -> RefOr<Schema> {
    let template = value::text(TEXT_CHARS_MAX).schema_type(value::nullable(Type::String));
    value::schema(
        template.min_length(Some(1)).max_length(Some(TEMPLATE_CHARS_MAX)).pattern(Some(TEMPLATE_PATTERN)),
    )
}

const TEXT_CHARS_MAX: usize = 4096;
const TEMPLATE_CHARS_MAX: usize = 512;

/// The placeholders of a template.
pub const PLACEHOLDERS: [&str; 10] = [
    "youtubeVideoId",
    "node_id",
    "device_id",
    "run_id",
    "timestamp",
    "task_id",
    "attempt",
    "kind",
    "name",
    "ext",
];

/// Components without a leading dot, of plain characters and known placeholders.
const TEMPLATE_PATTERN: &str = concat!(
    r"^(?!\.)(?:[A-Za-z0-9._-]|\{(?:youtubeVideoId|node_id|device_id|run_id|timestamp|task_id|attempt|kind|name|ext)\})+",
    r"(?:/(?!\.)(?:[A-Za-z0-9._-]|\{(?:youtubeVideoId|node_id|device_id|run_id|timestamp|task_id|attempt|kind|name|ext)\})+)*$",
);
