//! Errors in the shape of a request, in FastAPI's format (contract P).

use crate::Problem;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// One thing that is wrong with the shape of a request: where it stands, and what it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Misfit {
    loc: Vec<Value>,
    msg: String,
}

impl Misfit {
    /// Blames a place: `["body", "jobs", 3, "priority"]`, `["query", "limit"]`, `["path", "id"]`.
    #[must_use]
    pub fn new(loc: Vec<Value>, msg: impl Into<String>) -> Self {
        Self { loc, msg: msg.into() }
    }

    /// Blames one field of the body.
    #[must_use]
    pub fn field(name: &str, msg: impl Into<String>) -> Self {
        Self::new(vec!["body".into(), name.into()], msg)
    }

    /// Blames the body as a whole.
    #[must_use]
    pub fn body(msg: impl Into<String>) -> Self {
        Self::new(vec!["body".into()], msg)
    }
}

impl Problem {
    /// 422 with `errors: [{loc, msg}]`; `detail` says the same in one line. At least one misfit is given.
    #[must_use]
    pub fn misfits(errors: Vec<Misfit>) -> Self {
        let mut detail = String::new();
        for misfit in errors.iter().take(TOLD_MAX) {
            let separator = if detail.is_empty() { "" } else { "; " };
            let _ = write!(detail, "{separator}{misfit}");
        }
        if errors.len() > TOLD_MAX {
            let _ = write!(detail, "; and {} more", errors.len() - TOLD_MAX);
        }
        let errors = serde_json::to_value(&errors).expect("a misfit has only text keys");
        let title = "The request is not of the shape it must have";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "misfit", title, detail).with("errors", errors)
    }

    /// 422 for what one field of the body must be, in FastAPI's shape.
    #[must_use]
    pub fn misfit(misfit: Misfit) -> Self {
        Self::misfits(vec![misfit])
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, part) in self.loc.iter().enumerate() {
            let separator = if at == 0 { "" } else { "." };
            match part {
                Value::String(text) => write!(f, "{separator}{text}")?,
                other => write!(f, "{separator}{other}")?,
            }
        }
        write!(f, ": {}", self.msg)
    }
}

/// `detail` is one line for people; all of them stand in `errors`.
const TOLD_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use serde_json::json;

    /// P1, P2: a body of wrong shape is told as FastAPI does, in a problem.
    #[tokio::test]
    async fn a_misfit_names_its_place() {
        let second = Misfit::new(vec!["body".into(), "jobs".into(), 3.into()], "Input should be an object");
        let problem = Problem::misfits(vec![Misfit::field("username", "Field required"), second]);
        let response = problem.into_response();
        assert_eq!(response.status(), 422);
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["detail"], "body.username: Field required; body.jobs.3: Input should be an object");
        assert_eq!(body["errors"][0], json!({"loc": ["body", "username"], "msg": "Field required"}));
        assert_eq!(body["errors"][1]["loc"], json!(["body", "jobs", 3]));
    }

    #[test]
    fn a_long_list_is_told_in_short() {
        let all = (0..1000).map(|n| Misfit::new(vec!["body".into(), n.into()], "x")).collect();
        let problem = Problem::misfits(all);
        assert!(problem.detail().ends_with("; and 995 more") && problem.detail().len() < 100);
    }
}
