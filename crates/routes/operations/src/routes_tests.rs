use super::*;
use serde_json::Value;

fn described() -> Value {
    let (_, description) = routes().split_for_parts();
    serde_json::to_value(&description).unwrap()
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push((format!("{method} {path}"), operation.clone()));
        }
    }
    all
}

/// Q14, Q15, Q16, Q17: every route of the contract is described.
#[test]
fn every_route_is_described() {
    let found: Vec<String> = operations(&described()).into_iter().map(|(route, _)| route).collect();
    for route in [
        "post /api/runs",
        "get /api/runs",
        "get /api/runs/{id}",
        "post /api/runs/{id}/cancel",
        "post /api/runs/{id}/retry",
        "get /api/runs/{id}/failures",
        "get /api/runs/{id}/attempts",
        "get /api/runs/{id}/artifacts",
        "get /api/devices/{id}/task_devices",
        "get /api/devices/{id}/artifacts",
        "get /api/runs/{id}/task_devices",
        "post /api/schedules",
        "get /api/schedules",
        "get /api/schedules/{id}",
        "delete /api/schedules/{id}",
        "get /api/task_devices/{id}",
        "get /api/task_devices/{id}/history",
        "get /api/devices",
        "get /api/devices/{id}",
        "patch /api/devices/{id}",
        "post /api/devices/{id}/return",
        "get /api/pcs",
        "get /api/pcs/{id}",
        "patch /api/pcs/{id}",
        "post /api/nodes/{id}/drain",
        "post /api/nodes/{id}/resume",
        "post /api/nodes/{id}/secret",
        "get /api/alerts",
        "get /api/explain/{kind}/{id}",
        "post /rest/v1/rpc/claim_task_devices_for_pc",
        "post /rest/v1/rpc/renew_task_device_lease",
        "post /rest/v1/rpc/complete_task_device",
        "post /rest/v1/rpc/fail_or_retry_task_device",
        "post /rest/v1/rpc/fn_timeout_tasks_and_task_devices",
    ] {
        assert!(found.iter().any(|known| known == route), "{route}");
    }
    assert_eq!(found.len(), 34);
}

/// I7, I8: every operation says who may call it, has an id of its own, and a success with words.
#[test]
fn every_operation_is_complete() {
    let document = described();
    let mut ids = std::collections::BTreeSet::new();
    for (route, operation) in operations(&document) {
        assert!(operation["security"].as_array().is_some_and(|needs| !needs.is_empty()), "{route}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{route}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{route}");
        assert!(responses.values().all(|response| response["description"].is_string()), "{route}");
    }
}

/// I8: every reference within the description leads somewhere.
#[test]
fn every_reference_leads_somewhere() {
    let document = described();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for part in document.to_string().split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}
