//! The routes of the court.

use crate::{
    CourtDesk,
    board::story,
    wire::{Board, Inbox, OpenQuestion, Replied, ReplyRequest, Story},
};
use axum::{
    Extension, Json,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use muster_coordinator::Lead;
use muster_court::{
    Id,
    doctor::why,
    emit::Emitted,
    inbox::{self, Question, ReplyError},
};
use muster_explain::Why;
use muster_http::{Fields, HttpState, JsonBody, Operator, PathText, Problem};
use muster_model::{Actor, ask::accounts::Note};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The routes of the court that a server shows.
#[must_use]
pub fn routes(desk: CourtDesk) -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(show))
        .routes(routes!(list_questions))
        .routes(routes!(tell))
        .routes(routes!(reply))
        .routes(routes!(explain))
        .layer(Extension(desk))
}

/// Shows what lies where in the court, the newest of each place.
#[utoipa::path(
    get, path = "/api/court", operation_id = "show_court", tag = "court", security(("operator" = [])),
    responses(
        (status = 200, description = "The places", body = Board),
        (status = 404, description = "This server shows no court"),
    )
)]
async fn show(_: Operator, desk: CourtDesk) -> Result<Json<Arc<Board>>, Problem> {
    desk.board().await.map(Json)
}

/// Lists the questions that wait for people, the oldest first.
#[utoipa::path(
    get, path = "/api/court/inbox", operation_id = "list_questions", tag = "court", security(("operator" = [])),
    responses(
        (status = 200, description = "The questions", body = Inbox),
        (status = 404, description = "This server shows no court"),
    )
)]
async fn list_questions(_: Operator, desk: CourtDesk) -> Result<Json<Inbox>, Problem> {
    let questions = desk
        .look(|look| inbox::open_questions(&look.folder).map_err(|fault| Problem::internal(&fault)))
        .await?;
    let count = questions.len();
    Ok(Json(Inbox { count, questions: questions.into_iter().take(QUESTIONS_MAX).map(shown).collect() }))
}

/// Tells all that happened to one task, across its files.
#[utoipa::path(
    get, path = "/api/court/tasks/{id}", operation_id = "show_court_task", tag = "court",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The task, or the event it comes from")),
    responses(
        (status = 200, description = "Its story", body = Story),
        (status = 404, description = "There is no such task, or this server shows no court"),
    )
)]
async fn tell(_: Operator, desk: CourtDesk, PathText(id): PathText) -> Result<Json<Story>, Problem> {
    desk.look(move |look| story(look, &task_id(&id)?).ok_or_else(no_task)).await.map(Json)
}

/// Answers the question of a task; its work then goes on.
#[utoipa::path(
    post, path = "/api/court/tasks/{id}/reply", operation_id = "reply_to_court_task", tag = "court",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The task that asks")),
    request_body = ReplyRequest,
    responses(
        (status = 202, description = "The answer is on its way", body = Replied),
        (status = 404, description = "There is no such question, or this server shows no court"),
        (status = 409, description = "It was answered before"),
        (status = 422, description = "The answer is empty or too long"),
        (status = 503, description = "This server does not lead, so nobody could tell later who answered; the words say where to"),
    )
)]
async fn reply(
    replier: Replier,
    PathText(id): PathText,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Replied>), Problem> {
    let fields = Fields::of(&body)?;
    fields.only(&["text"])?;
    let text = fields.text("text", ANSWER_CHARS_MAX)?.to_owned();
    let task = id.clone();
    let answered = move |look: &crate::desk::OpenedCourt| {
        inbox::reply(&look.folder, &task_id(&task)?, &text, look.now).map_err(refuse)
    };
    let event_id = match replier.desk.answer(answered).await? {
        Emitted::Duplicate(_) => return Err(Problem::conflict("the same answer was given in this moment")),
        emitted => emitted.id().to_string(),
    };
    replier.note(&id).await;
    Ok((StatusCode::ACCEPTED, Json(Replied { event_id })))
}

/// Says why a task of the court is not running, in one sentence and as data (Q16).
#[utoipa::path(
    get, path = "/api/explain/court_task/{id}", operation_id = "explain_court_task", tag = "explain",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The task, or the event it comes from")),
    responses(
        (status = 200, description = "The rule that holds it back, or that nothing does", body = Why),
        (status = 404, description = "There is no such task, or this server shows no court"),
    )
)]
async fn explain(_: Operator, desk: CourtDesk, PathText(id): PathText) -> Result<Json<Why>, Problem> {
    let explained = desk.look(move |look| {
        let told = why(&look.folder, &look.court, &task_id(&id)?, look.now);
        told.map_err(|fault| Problem::internal(&fault))?.ok_or_else(no_task)
    });
    explained.await.map(Json)
}

/// Caller that may answer questions, with the court's desk.
struct Replier {
    http: HttpState,
    actor: Actor,
    desk: CourtDesk,
}

impl FromRequestParts<HttpState> for Replier {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let operator = Operator::from_request_parts(parts, http).await?;
        let desk = CourtDesk::from_request_parts(parts, http).await?;
        answers_count(&http.coordinator.lead())?;
        Ok(Self { http: http.clone(), actor: operator.actor(), desk })
    }
}

impl Replier {
    /// The answer is with the court by now, whatever becomes of the line that says who gave it.
    async fn note(&self, task: &str) {
        let subject = format!("court task {task}");
        let note = Note { action: "reply_to_court", subject: subject.as_str().into() };
        if let Err(refusal) = self.http.coordinator.ask_as(&self.actor, note).await {
            tracing::warn!(actor = ?self.actor, subject, %refusal, "an answer stands in no audit log");
        }
    }
}

/// Refuses answers where nobody writes down who gave them: only the server that leads keeps an audit log.
fn answers_count(lead: &Lead) -> Result<(), Problem> {
    let away = match lead {
        Lead::Here { .. } => return Ok(()),
        Lead::There { address, .. } => {
            format!("this server does not lead; answer at {address}, if it shows this court,")
        }
        Lead::Nowhere => "no server leads at the moment; answer later,".to_owned(),
    };
    Err(Problem::not_leading(format!("{away} or with `muster court reply` on this host")))
}

fn task_id(id: &str) -> Result<Id, Problem> {
    Id::parse(id).map_err(|_| no_task())
}

fn no_task() -> Problem {
    Problem::not_found("no file of this court knows that task")
}

fn refuse(error: ReplyError) -> Problem {
    match &error {
        ReplyError::NotFound(_) => Problem::not_found(error.to_string()),
        ReplyError::AlreadyAnswered(_) => Problem::conflict(error.to_string()),
        ReplyError::Empty => Problem::unprocessable("text", "must say something"),
        ReplyError::TooLong(_) => Problem::unprocessable("text", "is too long"),
        ReplyError::Fault(fault) => Problem::internal(fault),
    }
}

fn shown(question: Question) -> OpenQuestion {
    OpenQuestion {
        task_id: question.task_id.to_string(),
        general: question.general,
        question: question.question,
        asked_at: question.asked_at.as_millisecond(),
        channel: question.channel,
        thread_ts: question.thread_ts,
    }
}

const QUESTIONS_MAX: usize = 100;
const ANSWER_CHARS_MAX: usize = 40_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// C14, I7: an answer that would stand in no audit log is refused with words that say where to give it.
    #[test]
    fn answers_are_for_the_server_that_leads() {
        assert!(answers_count(&Lead::Here { epoch: 7 }).is_ok());
        let there = Lead::There { address: "http://10.0.0.7:7400".to_owned(), epoch: 8 };
        for (lead, word) in [(there, "http://10.0.0.7:7400"), (Lead::Nowhere, "later")] {
            let refused = answers_count(&lead).unwrap_err();
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
            let words = refused.detail();
            assert!(words.contains(word) && words.contains("`muster court reply`"), "{words}");
        }
    }
}
