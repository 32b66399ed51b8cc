//! Where a worker wants its tasks brought to, and whether we call there (S3).

use reqwest::Url;
use std::net::IpAddr;

/// What is known of whoever wants to be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// Where its registration came from.
    pub(crate) peer: Option<IpAddr>,
    /// Hosts that may be called beside that, by name or address.
    pub(crate) allowed: &'a [String],
}

/// Takes an address if a worker may have itself called there; `Err` says what is wrong with it.
///
/// A server that calls any address it is given can be sent to places only it can reach. So the host must be where the
/// registration came from, or listed; a name only where it is listed, because whoever owns it can point it elsewhere.
pub(crate) fn check_endpoint(text: &str, origin: Origin<'_>) -> Result<Box<str>, &'static str> {
    let url = Url::parse(text).map_err(|_| "must be an address such as http://10.0.0.7:9000")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not carry a name or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must have neither a query nor a fragment");
    }
    if !is_allowed(&url, origin) {
        return Err(
            "must be at the address the registration came from, or listed in simulation.endpoint_allow",
        );
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

fn is_allowed(url: &Url, origin: Origin<'_>) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = bare(host);
    if origin.allowed.iter().any(|listed| is_same(bare(listed), host)) {
        return true;
    }
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    address.is_some() && address == origin.peer
}

/// Whether two hosts are the same, by address where they are addresses.
fn is_same(listed: &str, host: &str) -> bool {
    match (listed.parse::<IpAddr>(), host.parse::<IpAddr>()) {
        (Ok(listed), Ok(host)) => listed.to_canonical() == host.to_canonical(),
        _ => listed.eq_ignore_ascii_case(host),
    }
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Option<String> {
        let allowed = ["gpu-7.lab".to_owned(), "10.9.9.9".to_owned()];
        let origin = Origin { peer: Some("10.0.0.7".parse().unwrap()), allowed: &allowed };
        check_endpoint(text, origin).ok().map(Into::into)
    }

    /// S3: an endpoint is where the registration came from, or listed.
    #[test]
    fn own_and_listed_endpoints_are_taken() {
        for (text, taken) in [
            ("http://10.0.0.7:9000", "http://10.0.0.7:9000"),
            ("http://10.0.0.7:9000/base/", "http://10.0.0.7:9000/base"),
            ("https://10.0.0.7", "https://10.0.0.7"),
            ("http://[::ffff:10.0.0.7]:9000", "http://[::ffff:a00:7]:9000"),
            ("http://GPU-7.lab:9000", "http://gpu-7.lab:9000"),
            ("http://10.9.9.9:1", "http://10.9.9.9:1"),
        ] {
            assert_eq!(check(text).as_deref(), Some(taken), "{text}");
        }
    }

    /// S3: no other host is ever called, however it is written.
    #[test]
    fn foreign_endpoints_are_refused() {
        for text in [
            "http://127.0.0.1:9000",
            "http://localhost:9000",
            "http://169.254.169.254/latest/meta-data",
            "http://0xa9fea9fe/",
            "http://10.0.0.70:9000",
            "http://10.0.0.7.evil.example/",
            "http://10.0.0.7@evil.example/",
            "http://evil.example/#@10.0.0.7",
            "http://evil.example\\@10.0.0.7/",
            "http://user:pass@10.0.0.7/",
            "http://10.0.0.7/?x=1",
            "http://10.0.0.7/#x",
            "ftp://10.0.0.7/",
            "file:///etc/passwd",
            "gpu-7.lab:9000",
            "//10.0.0.7/",
            "10.0.0.7:9000",
            "",
        ] {
            assert_eq!(check(text), None, "{text}");
        }
        let nobody = Origin { peer: None, allowed: &[] };
        assert!(check_endpoint("http://10.0.0.7/", nobody).is_err());
        // The same address, written as one number: it is read before it is compared.
        assert!(check("http://167772167/").is_some());
    }
}
