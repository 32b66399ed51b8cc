//! Reads what stands in a request's address: its query, and the `{id}` in its path.

use crate::Problem;
use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use muster_model::Name;
use muster_store::Cursor;
use std::{collections::BTreeMap, ops::RangeInclusive, str::FromStr};

/// The query of a request, read by name. What is empty is not absent: a filter left empty by mistake would
/// silently show everything.
#[derive(Clone, Debug, Default)]
pub struct Params(BTreeMap<String, String>);

/// The one variable of a route's path, such as `{id}`, decoded.
#[derive(Clone, Debug)]
pub struct PathText(pub String);

#[allow(clippy::missing_errors_doc, reason = "each answers 422 naming the parameter")]
impl Params {
    /// Refuses parameters other than these: a misspelt filter would silently show everything.
    pub fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                let detail = format!("is not known here; known are {}", known.join(", "));
                Err(Problem::unprocessable(key.as_str(), &detail))
            }
            None => Ok(()),
        }
    }

    /// A parameter's text.
    #[must_use]
    pub fn opt_text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// A parameter that must be there.
    pub fn text(&self, key: &str) -> Result<&str, Problem> {
        self.opt_text(key).ok_or_else(|| Problem::unprocessable(key, "is missing"))
    }

    /// A name.
    pub fn name(&self, key: &str) -> Result<Name, Problem> {
        Name::new(self.text(key)?).map_err(|error| Problem::unprocessable(key, &error.to_string()))
    }

    /// A name, if any.
    pub fn opt_name(&self, key: &str) -> Result<Option<Name>, Problem> {
        self.opt_text(key).map(|_| self.name(key)).transpose()
    }

    /// An integer of a range, if any.
    pub fn opt_integer_in(&self, key: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, Problem> {
        let Some(text) = self.opt_text(key) else {
            return Ok(None);
        };
        let integer = text.parse().ok().filter(|integer| range.contains(integer));
        let detail = || format!("must be an integer from {} to {}", range.start(), range.end());
        integer.map(Some).ok_or_else(|| Problem::unprocessable(key, &detail()))
    }

    /// One of some words, if any.
    pub fn opt_choice(&self, key: &str, words: &[&'static str]) -> Result<Option<&'static str>, Problem> {
        let Some(text) = self.opt_text(key) else {
            return Ok(None);
        };
        let word = words.iter().find(|word| **word == text).copied();
        let detail = || format!("must be one of {}", words.join(", "));
        word.map(Some).ok_or_else(|| Problem::unprocessable(key, &detail()))
    }

    /// Reads the start (`after`) and the maximum length (`limit`, 1 to 1000, default 100) of a page of a list.
    pub fn cursor(&self) -> Result<Cursor, Problem> {
        let limit = self.opt_integer_in("limit", 1..=1000)?.unwrap_or(100);
        let limit = u32::try_from(limit).expect("checked to be at most 1000");
        let after = self.opt_text("after").filter(|text| !text.is_empty());
        Ok(Cursor { after: after.map(str::to_owned), limit })
    }
}

impl PathText {
    /// The text as an id; one that cannot be an id names nothing, so it is 404 and not 422.
    ///
    /// # Errors
    /// 404 saying that there is no such `what`.
    pub fn id<T: FromStr>(&self, what: &str) -> Result<T, Problem> {
        self.0.parse().map_err(|_| Problem::not_found(format!("there is no such {what}")))
    }

    /// The text as a name.
    ///
    /// # Errors
    /// 404 saying that there is no such `what`.
    pub fn name(&self, what: &str) -> Result<Name, Problem> {
        Name::new(&self.0).map_err(|_| Problem::not_found(format!("there is no such {what}")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) = pairs.map_err(|_| Problem::bad_request("the query is not well-formed"))?;
        let mut params = BTreeMap::new();
        for (key, value) in pairs {
            if params.insert(key.clone(), value).is_some() {
                return Err(Problem::unprocessable(key, "stands twice in the query"));
            }
        }
        Ok(Self(params))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.map(|Path(text)| Self(text)).map_err(|_| Problem::not_found("there is no such path"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn params(query: &str) -> Result<Params, Problem> {
        let uri = format!("http://localhost/x?{query}");
        let (mut parts, ()) = axum::http::Request::get(uri).body(()).unwrap().into_parts();
        Params::from_request_parts(&mut parts, &()).await
    }

    /// Q15: lists take a cursor and filters; a wrong one is named.
    #[tokio::test]
    async fn a_query_is_read_by_name() {
        let read = params("limit=7&after=a%2Fb&status=x&pc=PC-01").await.unwrap();
        assert_eq!(read.cursor().unwrap(), Cursor { after: Some("a/b".to_owned()), limit: 7 });
        assert_eq!(read.opt_choice("status", &["x"]).unwrap(), Some("x"));
        let empty = params("after=&status=&pc=").await.unwrap();
        assert_eq!(empty.cursor().unwrap().after, None);
        assert_eq!(empty.opt_choice("status", &["x"]).unwrap_err().field(), Some("status"));
        assert_eq!(empty.opt_name("pc").unwrap_err().field(), Some("pc"));
        assert_eq!(read.name("pc").unwrap().as_str(), "PC-01");
        assert_eq!(read.only(&["limit", "after", "status"]).unwrap_err().field(), Some("pc"));
        for (query, field) in
            [("limit=0", "limit"), ("limit=", "limit"), ("limit=x", "limit"), ("limit=1&limit=1", "limit")]
        {
            let problem = match params(query).await {
                Ok(read) => read.cursor().unwrap_err(),
                Err(problem) => problem,
            };
            assert_eq!((problem.status().as_u16(), problem.field()), (422, Some(field)));
        }
    }
}
