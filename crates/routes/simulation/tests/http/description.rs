//! The description of the routes: I7, I8.

use crate::world::World;
use serde_json::Value;
use std::collections::BTreeSet;

async fn document() -> Value {
    let world = World::new().await;
    let request = axum::http::Request::get("/openapi.json").header("host", "localhost");
    world.send(request.body(axum::body::Body::empty()).unwrap()).await.body
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push((format!("{method} {path}"), operation.clone()));
        }
    }
    all.retain(|(route, _)| route.contains(" /api/v1/"));
    all
}

/// S1, S2, S3, S4, S5, S5b, S6, S7, S9, S11, S15, S17, S19, S20, S26: every route of the contract is described.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_described() {
    let found: BTreeSet<String> = operations(&document().await).into_iter().map(|(route, _)| route).collect();
    let expected = [
        "post /api/v1/workers/register",
        "post /api/v1/workers/{id}/heartbeat",
        "get /api/v1/workers/{id}/tasks",
        "post /api/v1/workers/{id}/progress",
        "post /api/v1/workers/rebind",
        "post /api/v1/workers/broadcast",
        "get /api/v1/workers",
        "get /api/v1/workers/{id}",
        "delete /api/v1/workers/{id}",
        "post /api/v1/workers/{id}/approve",
        "post /api/v1/workers/{id}/quarantine",
        "post /api/v1/tasks/{id}/complete",
        "post /api/v1/tasks/{id}/fail",
        "post /api/v1/tasks/assign",
        "post /api/v1/id-ranges",
        "get /api/v1/chunks",
        "post /api/v1/chunks/{id}/retire",
        "get /api/v1/quarantine",
        "post /api/v1/quarantine/{id}/confirm",
        "get /api/v1/status",
        "get /api/v1/checkpoint",
        "post /api/v1/sessions",
        "get /api/v1/sessions",
        "get /api/v1/sessions/{id}",
        "post /api/v1/sessions/{id}/pause",
        "post /api/v1/sessions/{id}/resume",
        "post /api/v1/sessions/{id}/retry",
        "post /api/v1/sessions/{id}/cancel",
        "get /api/v1/sessions/{id}/stream",
        "get /api/v1/sessions/{id}/tasks",
        "get /api/v1/sessions/{id}/diagnostics",
    ];
    assert_eq!(found, expected.into_iter().map(str::to_owned).collect());
}

/// I7, I8: every operation says who may call it, has an id of its own and a success; every reference leads somewhere.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_complete() {
    let document = document().await;
    let mut ids = BTreeSet::new();
    for (route, operation) in operations(&document) {
        assert!(operation["security"].as_array().is_some_and(|needs| !needs.is_empty()), "{route}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{route}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{route}");
    }
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    assert!(["enrolment", "worker", "worker_token"].iter().all(|scheme| schemes.contains_key(*scheme)));
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for part in document.to_string().split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}
