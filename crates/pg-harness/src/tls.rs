//! Certificates of a server.

use crate::{Cluster, binaries::run};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

impl Cluster {
    /// Gives the running server a certificate for a name, signed by an authority of its own; answers the authority's
    /// certificate.
    pub fn serve_tls(&self, name: &str) -> PathBuf {
        // Beside the server's own files: its user may not read what is only ours, nor need it read the authority's key.
        let made = tempfile::tempdir().expect("a directory can be made");
        make_certificates(made.path(), name);
        for file in ["root.crt", "server.crt", "server.key"] {
            let text = fs::read_to_string(made.path().join(file)).expect("openssl wrote it");
            self.write_private(file, &text);
        }
        let path = |file: &str| self.home.join(file);
        self.configure(&[
            "ssl = on",
            &format!("ssl_cert_file = '{}'", path("server.crt").display()),
            &format!("ssl_key_file = '{}'", path("server.key").display()),
        ]);
        self.reload();
        self.until("the certificate to be used", "SELECT setting = 'on' FROM pg_settings WHERE name = 'ssl'");
        path("root.crt")
    }
}

fn make_certificates(directory: &Path, name: &str) {
    let subject = format!("/CN={name}");
    // A name of digits and dots is an address, and certificates tell the two apart.
    let kind = if name.parse::<std::net::IpAddr>().is_ok() { "IP" } else { "DNS" };
    let alternative = format!("subjectAltName={kind}:{name}");
    let openssl = |arguments: &[&str]| {
        run(Command::new("openssl").current_dir(directory).args(arguments));
    };
    openssl(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=an authority for tests",
        "-keyout",
        "root.key",
        "-out",
        "root.crt",
    ]);
    openssl(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        &subject,
        "-addext",
        &alternative,
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-CA",
        "root.crt",
        "-CAkey",
        "root.key",
        "-keyout",
        "server.key",
        "-out",
        "server.crt",
    ]);
}
