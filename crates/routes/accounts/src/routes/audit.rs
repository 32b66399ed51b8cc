//! The acts of privileged people (I7).

use super::{page_of, refuse};
use crate::wire::{Act, ActList};
use axum::{Json, extract::State};
use muster_http::{Admin, HttpState, Params, Problem};
use muster_model::AuditRecord;
use muster_store::{Cursor, Page, Reader, StoreError};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list))
}

/// Lists privileged acts, newest first.
#[utoipa::path(
    get, path = "/audit", operation_id = "list_audit", tag = "accounts", security(("user" = [])),
    params(
        ("action" = Option<String>, Query, description = "Only these: `cancel_run`"),
        ("actor" = Option<String>, Query, description = "Only by whoever had this name"),
        ("subject_contains" = Option<String>, Query, description = "Only those about something with this in it: the id of a run, a word of a reason"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Acts per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of acts; with a filter it may be short, or empty, and still have a next", body = ActList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(_: Admin, State(http): State<HttpState>, params: Params) -> Result<Json<ActList>, Problem> {
    let page = page_of(&params, &["action", "actor", "subject_contains", "after", "limit"])?;
    let text = |key| params.opt_text(key).map(str::to_owned);
    let wanted = ActFilter {
        action: text("action"),
        actor: text("actor"),
        subject_contains: text("subject_contains"),
    };
    let Page { items, next } =
        http.coordinator.read(move |store| wanted.page(store, page)).await.map_err(refuse)?;
    Ok(Json(ActList { acts: items.into_iter().map(Act::from).collect(), next }))
}

/// Filters of the log.
#[derive(Default)]
struct ActFilter {
    action: Option<String>,
    actor: Option<String>,
    subject_contains: Option<String>,
}

impl ActFilter {
    /// Looks through the log backwards, a bounded way. No step reads more than the page lacks, so that where the last one
    /// ended is where the next page begins.
    fn page(&self, store: &dyn Reader, mut page: Cursor) -> Result<Page<AuditRecord>, StoreError> {
        let mut found = Page { items: Vec::new(), next: None };
        for _ in 0..STEPS_MAX {
            let read = store.audit(&page)?;
            let matching: Vec<AuditRecord> = read.items.into_iter().filter(|act| self.is(act)).collect();
            page.limit -= u32::try_from(matching.len()).unwrap_or(page.limit);
            found.items.extend(matching);
            found.next = read.next;
            if found.next.is_none() || page.limit == 0 {
                break;
            }
            page.after.clone_from(&found.next);
        }
        Ok(found)
    }

    fn is(&self, act: &AuditRecord) -> bool {
        let is = |wanted: &Option<String>, told: &str| wanted.as_deref().is_none_or(|wanted| wanted == told);
        let contains = |wanted: &String| act.subject.contains(wanted.as_str());
        is(&self.action, &act.action)
            && is(&self.actor, &act.actor.name)
            && self.subject_contains.as_ref().is_none_or(contains)
    }
}

/// With the usual page, some ten thousand lines.
const STEPS_MAX: usize = 100;
