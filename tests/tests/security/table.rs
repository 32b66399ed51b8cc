//! Every operation of the server and what opens it, as the contracts say: I7, P1, P2, P13, P14.

use muster_tests::Server;
use serde_json::Value;

/// What opens an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing.
    Open,
    /// A signature in the address.
    Signature,
    /// The nodes' secret, or a node's own.
    Node,
    /// The secret that simulation workers enrol with.
    Enroller,
    /// A simulation worker's token.
    Renderer,
    /// VIEWER.
    Viewer,
    /// OPERATOR.
    Operator,
    /// OPERATOR, or the nodes' secret.
    OperatorOrNode,
    /// VIEWER, or a link: a signature in the address.
    ViewerOrLink,
    /// VIEWER, or a simulation worker's token.
    ViewerOrRenderer,
    /// OPERATOR, or a simulation worker's token.
    OperatorOrRenderer,
    /// A user, whatever they may do.
    User,
    /// CLIENT, which ADMIN implies.
    Client,
    /// WORKER_OWNER, which ADMIN does not imply.
    Owner,
    /// ADMIN.
    Admin,
}

/// One operation.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: String,
    /// With its variables in braces.
    pub(crate) path: String,
    pub(crate) guard: Guard,
    pub(crate) has_body: bool,
}

impl Route {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Its address, about something that does not exist.
    pub(crate) fn of_nobody(&self) -> String {
        let path = self.path.replace("{kind}", "run").replace("{name}", "nobody");
        path.replace("{id}", "nobody").replace("{path}", "videos/nobody")
    }
}

/// All operations that the server describes.
///
/// # Panics
/// When one of them is missing here, or one here is missing there.
pub(crate) fn routes(server: &Server) -> Vec<Route> {
    let document = server.anonymous().get("/openapi.json").expect(200);
    let mut left: Vec<&str> = TABLE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = format!("{} {path}", method.to_uppercase());
            let row = TABLE.iter().find(|(_, names)| names.contains(&name.as_str()));
            let (guard, _) = row.unwrap_or_else(|| panic!("{name}: say in table.rs what opens it"));
            left.retain(|known| *known != name);
            routes.push(Route {
                method: method.to_uppercase(),
                path: path.clone(),
                guard: *guard,
                has_body: operation.get("requestBody").is_some_and(Value::is_object),
            });
        }
    }
    assert!(left.is_empty(), "the server does not describe {left:?}");
    routes
}

const TABLE: &[(Guard, &[&str])] = &[
    (
        Guard::Open,
        &[
            "GET /healthz",
            "GET /readyz",
            "GET /leader-proof",
            "GET /openapi.json",
            "GET /docs",
            "GET /",
            "POST /auth/login",
        ],
    ),
    (Guard::Signature, &["PUT /api/uploads/{path}", "HEAD /api/uploads/{path}"]),
    (
        Guard::Node,
        &[
            "GET /api/nodes/pull",
            "POST /api/nodes/pull",
            "POST /api/nodes/callback",
            "POST /api/nodes/artifacts",
        ],
    ),
    (Guard::Enroller, &["POST /api/v1/workers/register"]),
    (
        Guard::Renderer,
        &[
            "POST /api/v1/id-ranges",
            "POST /api/v1/tasks/{id}/complete",
            "POST /api/v1/tasks/{id}/fail",
            "POST /api/v1/workers/rebind",
            "POST /api/v1/workers/{id}/heartbeat",
            "POST /api/v1/workers/{id}/progress",
            "GET /api/v1/workers/{id}/tasks",
        ],
    ),
    (
        Guard::Viewer,
        &[
            "GET /metrics",
            "GET /api/alerts",
            "GET /api/devices",
            "GET /api/devices/{id}",
            "GET /api/devices/{id}/artifacts",
            "GET /api/devices/{id}/task_devices",
            "GET /api/events",
            "GET /api/court",
            "GET /api/court/inbox",
            "GET /api/court/tasks/{id}",
            "GET /api/explain/court_task/{id}",
            "GET /api/explain/{kind}/{id}",
            "GET /api/fleet",
            "GET /api/overview",
            "GET /api/settings",
            "GET /api/nodes",
            "GET /api/pcs",
            "GET /api/pool/workers",
            "GET /api/pcs/{id}",
            "GET /api/runs",
            "GET /api/runs/{id}",
            "GET /api/runs/{id}/artifacts",
            "GET /api/runs/{id}/attempts",
            "GET /api/runs/{id}/failures",
            "GET /api/runs/{id}/task_devices",
            "GET /api/schedules",
            "GET /api/schedules/{id}",
            "GET /api/task_devices/{id}",
            "GET /api/task_devices/{id}/history",
            "GET /api/v1/chunks",
            "GET /api/v1/quarantine",
            "GET /api/v1/sessions",
            "GET /api/v1/sessions/{id}",
            "GET /api/v1/sessions/{id}/diagnostics",
            "GET /api/v1/sessions/{id}/stream",
            "GET /api/v1/sessions/{id}/tasks",
            "GET /api/v1/workers",
            "GET /api/v1/workers/{id}",
        ],
    ),
    (
        Guard::Operator,
        &[
            "PATCH /api/devices/{id}",
            "POST /api/court/tasks/{id}/reply",
            "POST /api/devices/{id}/return",
            "POST /api/nodes/{id}/drain",
            "POST /api/nodes/{id}/resume",
            "POST /api/nodes/{id}/secret",
            "PATCH /api/pcs/{id}",
            "POST /api/runs",
            "POST /api/runs/{id}/cancel",
            "POST /api/runs/{id}/retry",
            "POST /api/schedules",
            "DELETE /api/schedules/{id}",
            // It shows more than a VIEWER should see.
            "GET /api/v1/checkpoint",
            "POST /api/v1/chunks/{id}/retire",
            "POST /api/v1/quarantine/{id}/confirm",
            "POST /api/v1/sessions",
            "POST /api/v1/sessions/{id}/cancel",
            "POST /api/v1/sessions/{id}/pause",
            "POST /api/v1/sessions/{id}/resume",
            "POST /api/v1/sessions/{id}/retry",
            "POST /api/v1/tasks/assign",
            "POST /api/v1/workers/broadcast",
            "POST /api/v1/workers/{id}/approve",
            "POST /api/v1/workers/{id}/quarantine",
        ],
    ),
    (
        Guard::OperatorOrNode,
        &[
            "POST /rest/v1/rpc/claim_task_devices_for_pc",
            "POST /rest/v1/rpc/complete_task_device",
            "POST /rest/v1/rpc/fail_or_retry_task_device",
            "POST /rest/v1/rpc/fn_timeout_tasks_and_task_devices",
            "POST /rest/v1/rpc/renew_task_device_lease",
        ],
    ),
    // What a link opens is tested in crates/routes/nodes/tests/artifacts/links.rs.
    (Guard::ViewerOrLink, &["GET /api/artifacts/{path}"]),
    (Guard::ViewerOrRenderer, &["GET /api/v1/status"]),
    (Guard::OperatorOrRenderer, &["DELETE /api/v1/workers/{id}"]),
    (Guard::User, &["GET /auth/me", "POST /auth/refresh", "POST /auth/logout"]),
    (
        Guard::Client,
        &[
            "GET /api-keys",
            "POST /api-keys",
            "DELETE /api-keys/{id}",
            "GET /jobs",
            "POST /jobs",
            "POST /jobs/batch",
            "GET /jobs/{id}",
            "DELETE /jobs/{id}",
            "GET /jobs/{id}/explain",
            "GET /jobs/{id}/receipt",
            "POST /jobs/{id}/retry",
        ],
    ),
    (
        Guard::Owner,
        &[
            "GET /workers",
            "POST /workers/register",
            "POST /workers/heartbeat",
            "POST /workers/{id}/drain",
            "POST /workers/{id}/resume",
            "PUT /workers/{id}/key",
            "POST /jobs/poll",
            "POST /jobs/submit",
            "POST /jobs/work",
        ],
    ),
    // Whose own name it is may change the password, too: see the pool's tests of accounts.
    (
        Guard::Admin,
        &[
            "GET /audit",
            "GET /users",
            "POST /users",
            "PATCH /users/{name}",
            "POST /workers/{id}/ban",
            "POST /workers/{id}/unban",
        ],
    ),
];
