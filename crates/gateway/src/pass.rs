//! Passes a request on, if it may pass (P2, P16).

use crate::{
    admission::{admit, is_open},
    answer::{Stay, passed_on},
    coordinators::{Head, status_of},
    deliver::{Delivery, may_repeat},
    gateway::Parts,
    places::Place,
    problems,
    rates::hash_of,
    request_headers::outgoing,
    source::Source,
    tokens::Standing,
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, request, uri::PathAndQuery},
};
use muster_coordinator::instant_now;
use muster_http::{Peer, Problem, bearer, request_id};
use std::{sync::Arc, time::Duration};

/// Passes a request on. Strangers are turned away before anything of theirs is read or remembered.
pub(crate) async fn pass(
    State(gateway): State<Arc<Parts>>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let peer = request.extensions().get().and_then(|peer: &Peer| peer.0);
    let address = peer.ok_or_else(|| Problem::internal(&"a request from nowhere"))?;
    gateway.limiter.count_address(address, instant_now())?;
    let (parts, body) = request.into_parts();
    admit(&parts, &gateway.rules)?;
    let mut stay = Stay { places: vec![gateway.room.take_for(address)?], until: None };
    if is_open(parts.uri.path()) {
        stay.until = Some(instant_now() + gateway.open_max);
    } else {
        stay.places.push(check_token(&gateway, &parts.headers).await?);
    }
    let delivery = Delivery { until: stay.until, ..delivery(&gateway, parts, body)? };
    let answer = delivery.deliver(&gateway.coordinators).await?;
    passed_on(answer, stay)
}

/// Asks whether the coordinator knows the token, and only then counts it: nobody can use up another's rate or places by
/// guessing.
async fn check_token(gateway: &Arc<Parts>, headers: &HeaderMap) -> Result<Place, Problem> {
    let token = bearer(headers).ok_or_else(problems::invalid_token)?;
    let asking = || ask(Arc::clone(gateway), token.to_owned());
    match gateway.tokens.standing(token, asking).await {
        Standing::Known => {}
        Standing::Unknown => return Err(problems::invalid_token()),
        Standing::Unclear(problem) => return Err(problem),
    }
    gateway.limiter.count_key(token, instant_now())?;
    Ok(gateway.room_of_keys.take(hash_of(token))?)
}

async fn ask(gateway: Arc<Parts>, token: String) -> Standing {
    let Ok(mut authorization) = HeaderValue::try_from(format!("Bearer {token}")) else {
        return Standing::Unknown;
    };
    authorization.set_sensitive(true);
    let headers = [(header::AUTHORIZATION, authorization)].into_iter().collect();
    let head = Head { method: Method::GET, path: PathAndQuery::from_static("/auth/me"), headers };
    let source = Source::new(Body::empty(), 0, true);
    match (Delivery { head, source, answer_max: ASK_MAX, until: None }).deliver(&gateway.coordinators).await {
        Err(problem) => Standing::Unclear(problem),
        Ok(answer) => match status_of(answer).await {
            StatusCode::OK => Standing::Known,
            StatusCode::UNAUTHORIZED => Standing::Unknown,
            status => {
                tracing::warn!(status = status.as_u16(), "a coordinator does not say whose a token is");
                Standing::Unclear(Problem::busy("the coordinator does not say whose the token is"))
            }
        },
    }
}

fn delivery(gateway: &Parts, parts: request::Parts, body: Body) -> Result<Delivery, Problem> {
    let peer = parts.extensions.get::<Peer>().copied();
    let length_max = gateway.rules.body_max(parts.uri.path(), &parts.headers);
    let path = parts.uri.path_and_query().filter(|path| path.as_str().starts_with('/')).cloned();
    let path = path.ok_or_else(|| Problem::bad_request("the target must be a path"))?;
    let headers = outgoing(&parts.headers, peer, request_id(&parts.headers));
    let head = Head { method: parts.method, path, headers };
    let source = Source::new(body, length_max, may_repeat(&head));
    Ok(Delivery { head, source, answer_max: gateway.answer_max, until: None })
}

/// A question that anybody can answer at once.
const ASK_MAX: Duration = Duration::from_secs(5);
