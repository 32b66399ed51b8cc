//! A question that can be put to any server.

use muster_worker_kit::http::below;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, Url};

/// What is asked of whichever server.
pub(super) struct Asked<'a> {
    pub(super) method: Method,
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, String)],
    /// JSON.
    pub(super) body: Option<String>,
    pub(super) key: Option<&'a str>,
    /// For the audit log.
    pub(super) reason: Option<&'a str>,
}

impl<'a> Asked<'a> {
    pub(super) const fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self { method, path, query: &[], body: None, key: None, reason: None }
    }

    pub(super) fn request(&self, http: &reqwest::Client, server: &Url) -> RequestBuilder {
        let mut url = below(server, self.path.iter().copied());
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(self.query);
        }
        let mut request = http.request(self.method.clone(), url);
        if let Some(body) = &self.body {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        if let Some(reason) = self.reason {
            let encoded = utf8_percent_encode(reason, NON_ALPHANUMERIC).to_string();
            request = request.header("muster-reason", encoded);
        }
        self.key.into_iter().fold(request, |request, key| request.header("idempotency-key", key))
    }
}
