//! Jira's search, in the cloud and at home (C8, C18).

mod page;

use super::{
    Reading, SentinelError, Source, Trouble,
    door::{Answer, HttpState, Key},
};
use crate::{
    Clock, Document, Folder, Id,
    config::{self, Tokens},
};
use page::{Api, Cursor, Page};
use reqwest::{
    StatusCode,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// What a search finds.
pub(super) struct Jira {
    folder: Arc<Folder>,
    door: HttpState,
    source: Id,
    base_url: String,
    jql: String,
}

impl Jira {
    pub(super) fn new(
        folder: Arc<Folder>,
        settings: &config::Jira,
        tokens: &Tokens,
    ) -> Result<Self, SentinelError> {
        let section = "jira";
        let no_token = || SentinelError::NoToken { section, variable: TOKEN };
        let token = tokens.jira_api.clone().ok_or_else(no_token)?;
        let key = match tokens.jira_email.clone() {
            Some(email) => Key::Basic(email, token),
            None => Key::Bearer(token),
        };
        let door = HttpState::new(&settings.base_url, key, TOKEN)
            .map_err(|error| SentinelError::HttpState { section, error })?;
        let source = Id::parse(section).expect("jira is an id");
        let base_url = settings.base_url.trim_end_matches('/').to_owned();
        Ok(Self { folder, door, source, base_url, jql: settings.jql.clone() })
    }

    async fn read(&self) -> Result<Option<Duration>, Trouble> {
        let mut reading = Reading::begin(&self.folder, &self.source)?;
        let remembered = reading.kept().and_then(|kept| Api::of(&kept.text("api")?));
        let (api, mut answer) = self.first(remembered.unwrap_or(Api::Cloud)).await?;
        let mut cursor = Cursor::default();
        for number in 1.. {
            answer.check(Clock.now())?;
            let page = Page::read(&answer.body, &cursor, &self.base_url).map_err(Trouble::Failed)?;
            reading.take(&self.folder, page.notices, Clock.now())?;
            let Some(next) = page.next else { break };
            if number == PAGES_MAX {
                tracing::warn!("the search in Jira has more than {PAGES_MAX} pages; the rest is not read");
                break;
            }
            answer = self.ask(api, &next).await?;
            cursor = next;
        }
        let mut marks = Document::new();
        marks.set_text("api", api.word());
        reading.end(&self.folder, marks)?;
        Ok(None)
    }

    /// The first page, by the API that this site has; a site that moved is found again.
    async fn first(&self, likely: Api) -> Result<(Api, Answer), Trouble> {
        for api in [likely, likely.other()] {
            let answer = self.ask(api, &Cursor::default()).await?;
            if ![StatusCode::NOT_FOUND, StatusCode::GONE].contains(&answer.status) {
                return Ok((api, answer));
            }
        }
        let paths = [Api::Cloud, Api::DataCenter].map(|api| api.path().join("/"));
        Err(Trouble::Refused(format!("it has neither /{} nor /{}; check base_url", paths[0], paths[1])))
    }

    async fn ask(&self, api: Api, cursor: &Cursor) -> Result<Answer, Trouble> {
        let position = cursor.query();
        let mut query = vec![("jql", self.jql.as_str()), ("fields", FIELDS), ("maxResults", "100")];
        query.extend(position.as_ref().map(|(name, value)| (*name, value.as_str())));
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        self.door.get(self.door.url(api.path(), &query), headers).await
    }
}

impl Source for Jira {
    fn name(&self) -> &str {
        self.source.as_str()
    }

    async fn look(&mut self, stop: &CancellationToken) -> Result<Option<Duration>, Trouble> {
        stop.run_until_cancelled(self.read()).await.unwrap_or(Ok(None))
    }
}

const TOKEN: &str = "JIRA_API_TOKEN";
const FIELDS: &str = "summary,status,updated,issuetype,priority,assignee,project";
const PAGES_MAX: usize = 50;
