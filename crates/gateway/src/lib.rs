//! A door in front of coordinators, for callers that nobody has to trust (P16).
//!
//! [`Gateway`] takes requests, judges their heads by their bytes, limits how often each caller asks, has the coordinator
//! say whether it knows the token, and passes the request on to a coordinator that is ready. Bodies pass piece by piece,
//! both ways.
//!
//! [`Limiter`] is its rate limiter, which also is middleware of a server that may have no gateway before it.
//!
//! [`Forwarder`] is for servers that share a store: whichever of them a request reaches, the one that leads answers it.
//!
//! A gateway holds no state that matters and no secret: it can be killed at any time, and several can stand side by side.

mod admission;
mod coordinators;
mod forward;
mod gateway;
mod head;
mod pass;
mod places;
mod problems;
mod rates;
mod request_headers;
mod scanner;
mod screen;
mod source;
mod tokens;

pub use coordinators::{CoordinatorUrl, TlsError, UrlError};
pub use forward::{ForwardSettings, Forwarder, Trouble, proof_routes};
pub use gateway::{Gateway, GatewayError, Settings};
pub use rates::{Limiter, Rates, Wait};
