//! Encrypting what goes to the database and comes from it, and whom to believe.

use muster_store::StoreError;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Which servers are believed, and what we show them ourselves.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    /// Whether an authority must have signed the server's certificate.
    pub(crate) checks_chain: bool,
    /// Whether it must be for the host that was asked for.
    pub(crate) checks_name: bool,
    /// A file of authorities; `None`, or `system`: those this machine believes.
    pub(crate) roots: Option<PathBuf>,
    /// A file with a certificate of our own.
    pub(crate) certificate: Option<PathBuf>,
    /// A file with its key.
    pub(crate) key: Option<PathBuf>,
}

/// How to encrypt.
pub(crate) fn client(trust: &Trust) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions that it was built with");
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(Verifier {
        chain: if trust.checks_chain { Some(chain_verifier(trust, &provider)?) } else { None },
        checks_name: trust.checks_name,
        provider,
    });
    let config = versions.dangerous().with_custom_certificate_verifier(verifier);
    match (&trust.certificate, &trust.key) {
        (None, None) => Ok(config.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let secret = PrivateKeyDer::from_pem_file(key).map_err(unreadable("sslkey", key))?;
            config
                .with_client_auth_cert(certificates("sslcert", certificate)?, secret)
                .map_err(unreadable("sslcert", certificate))
        }
        _ => Err(StoreError::Unfit("sslcert and sslkey must be given together".into())),
    }
}

/// Checks as much of a certificate as was asked for.
#[derive(Debug)]
struct Verifier {
    /// `None`: whoever answers is believed. What is sent is safe from those who listen, not from those who intercept.
    chain: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is looked at last, when everything else is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn chain_verifier(
    trust: &Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, StoreError> {
    let mut roots = RootCertStore::empty();
    match trust.roots.as_deref().filter(|path| *path != Path::new("system")) {
        Some(path) => roots.add_parsable_certificates(certificates("sslrootcert", path)?),
        None => roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    };
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().map_err(|_| {
        StoreError::Unfit(
            "no certificate of an authority was found; name a file of them: sslrootcert=FILE".into(),
        )
    })
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(unreadable(parameter, path))
}

fn unreadable<E: std::fmt::Display>(parameter: &str, path: &Path) -> impl FnOnce(E) -> StoreError {
    move |error| StoreError::Unfit(format!("{parameter}: cannot use {}: {error}", path.display()))
}
