//! S3: where a master reaches a worker that listens.

use crate::failure::Failure;
use muster_worker_kit::http::Servers;
use reqwest::Url;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use tokio::net::TcpListener;

/// The address that calls to the server come from, and the port that is listened on: a server calls no other host than
/// the one that a registration came from.
pub(super) fn of(listener: &TcpListener, servers: &Servers) -> Result<String, Failure> {
    let listening = listener.local_addr()?;
    let address = if listening.ip().is_unspecified() { towards(servers)? } else { listening.ip() };
    Ok(format!("http://{}", SocketAddr::new(address, listening.port())))
}

/// The address of this machine on the way to the first server to which there is one.
fn towards(servers: &Servers) -> Result<IpAddr, Failure> {
    let no_way =
        || Failure::Usage(format!("no way to {servers}; name this worker's address with --endpoint"));
    servers.urls().find_map(towards_one).ok_or_else(no_way)
}

/// The address of this machine on the way to a server. Nothing is sent.
fn towards_one(server: &Url) -> Option<IpAddr> {
    let addresses = server.socket_addrs(|| None).ok()?;
    let found = addresses.into_iter().find_map(|address| {
        let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(address).ok()?;
        socket.local_addr().ok()
    });
    found.map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3: whoever listens on all addresses names the one that the master sees.
    #[tokio::test]
    async fn the_address_is_the_one_that_the_master_sees() {
        let servers = Servers::parse(["http://no-such-host.invalid,http://127.0.0.1:7400"]).unwrap();
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(listen).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            assert_eq!(of(&listener, &servers).unwrap(), format!("http://127.0.0.1:{port}"));
        }
    }
}
