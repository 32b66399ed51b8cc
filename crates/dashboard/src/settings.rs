//! The settings in force, and where each came from (I10).

use crate::Dashboard;
use axum::{Extension, Json};
use muster_http::{HttpState, Operator, Params, Problem};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

/// A setting as it stands. No secret is one, and no password is shown in one (I6).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Setting {
    /// `section.key`.
    #[schema(example = "operations.slots")]
    pub name: String,
    /// Its value: a number, a text, true or false, or a list.
    pub value: Value,
    /// Its source: `default`, `file …`, `environment …` or `flag …`.
    #[schema(example = "default")]
    pub from: String,
    /// Its default.
    pub default: Value,
}

/// The settings in force.
#[derive(Debug, Serialize, ToSchema)]
struct Settings {
    /// By name.
    settings: Vec<Setting>,
}

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(settings))
}

/// Shows the settings of the server that leads, and where each came from.
#[utoipa::path(
    get, path = "/api/settings", operation_id = "show_settings", tag = "dashboard", security(("operator" = [])),
    responses(
        (status = 200, description = "The settings by name", body = Settings),
        (status = 422, description = "It takes no parameters"),
    )
)]
async fn settings(
    _: Operator,
    params: Params,
    Extension(dashboard): Extension<Dashboard>,
) -> Result<Json<Settings>, Problem> {
    params.only(&[])?;
    Ok(Json(Settings { settings: dashboard.0.about.settings.clone() }))
}
