//! HTTP clients, with TLS where the address asks for it.

use reqwest::{Client, ClientBuilder};

/// A client for a server.
///
/// Certificates of the system are read for `https` only: they cost memory, and a machine may have none.
pub fn client_for(url: &str) -> ClientBuilder {
    // Whoever comes first chooses; it is the same choice everywhere.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder =
        if url.starts_with("https:") { Client::builder() } else { Client::builder().tls_certs_only([]) };
    // Followed, a redirect turns a report into a question for some page, and that page's 200 into an ack.
    builder.redirect(reqwest::redirect::Policy::none())
}
