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
    all.retain(|(route, _)| route.contains(" /workers") || route.contains(" /jobs"));
    all
}

/// P3, P4, P5, P6, P7, P13, P14, P17, P18, P19: every route of the contract is described.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_described() {
    let found: BTreeSet<String> = operations(&document().await).into_iter().map(|(route, _)| route).collect();
    let expected = [
        "post /workers/register",
        "get /workers",
        "post /workers/heartbeat",
        "put /workers/{id}/key",
        "post /workers/{id}/drain",
        "post /workers/{id}/resume",
        "post /workers/{id}/ban",
        "post /workers/{id}/unban",
        "post /jobs/poll",
        "post /jobs/submit",
        "post /jobs/work",
        "post /jobs",
        "get /jobs",
        "post /jobs/batch",
        "get /jobs/{id}",
        "delete /jobs/{id}",
        "get /jobs/{id}/receipt",
        "get /jobs/{id}/explain",
        "post /jobs/{id}/retry",
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
    assert!(document["components"]["securitySchemes"]["user"].is_object());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for part in document.to_string().split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}
