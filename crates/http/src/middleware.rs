//! Middleware: code that every request passes before its route, put together as one service.
//!
//! axum's own middleware is a boxed service per layer, and each layer clones all layers inside it for each request. A
//! [`Middleware`] borrows its state instead, and a chain of them is one future: however many checks there are, a
//! request costs one clone of its route.

use axum::{
    extract::Request,
    response::Response,
    routing::{Route, Router},
};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// A check or an addition that every request passes.
pub trait Middleware: Send + Sync + 'static {
    /// Responds to a request, mostly by means of `next`, which is the rest of the way to the route.
    fn handle(&self, request: Request, next: impl Next) -> impl Future<Output = Response> + Send;

    /// This middleware, and inside of it another.
    fn around<I: Middleware>(self, inner: I) -> Around<Self, I>
    where
        Self: Sized,
    {
        Around { outer: self, inner }
    }
}

/// The rest of the way to the route.
pub trait Next: Send {
    /// Lets the request go on.
    fn run(self, request: Request) -> impl Future<Output = Response> + Send;
}

/// Two middlewares, one inside of the other.
#[derive(Clone, Debug)]
pub struct Around<O, I> {
    outer: O,
    inner: I,
}

impl<O: Middleware, I: Middleware> Middleware for Around<O, I> {
    fn handle(&self, request: Request, next: impl Next) -> impl Future<Output = Response> + Send {
        self.outer.handle(request, Inside { middleware: &self.inner, next })
    }
}

/// No middleware.
impl Middleware for () {
    fn handle(&self, request: Request, next: impl Next) -> impl Future<Output = Response> + Send {
        next.run(request)
    }
}

impl<M: Middleware> Middleware for Arc<M> {
    fn handle(&self, request: Request, next: impl Next) -> impl Future<Output = Response> + Send {
        (**self).handle(request, next)
    }
}

/// Puts a middleware before all routes of a router, its fallbacks included.
pub fn layered<M: Middleware>(router: Router, middleware: M) -> Router {
    router.layer(MiddlewareLayer(Arc::new(middleware)))
}

/// A middleware, then the rest.
struct Inside<'a, M, N> {
    middleware: &'a M,
    next: N,
}

impl<M: Middleware, N: Next> Next for Inside<'_, M, N> {
    fn run(self, request: Request) -> impl Future<Output = Response> + Send {
        self.middleware.handle(request, self.next)
    }
}

struct MiddlewareLayer<M>(Arc<M>);

impl<M> Clone for MiddlewareLayer<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M> Layer<Route> for MiddlewareLayer<M> {
    type Service = Endpoint<M>;

    fn layer(&self, route: Route) -> Endpoint<M> {
        Endpoint(Arc::new(GuardedRoute { middleware: Arc::clone(&self.0), route }))
    }
}

/// A route behind its middleware. axum clones it for each request, so it is one pointer.
struct Endpoint<M>(Arc<GuardedRoute<M>>);

struct GuardedRoute<M> {
    middleware: Arc<M>,
    route: Route,
}

impl<M> Clone for Endpoint<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Middleware> Service<Request> for Endpoint<M> {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A route is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let endpoint = Arc::clone(&self.0);
        Box::pin(async move { Ok(endpoint.middleware.handle(request, RouteCall(&endpoint.route)).await) })
    }
}

struct RouteCall<'a>(&'a Route);

impl Next for RouteCall<'_> {
    async fn run(self, request: Request) -> Response {
        let Ok(response) = self.0.clone().call(request).await;
        response
    }
}
