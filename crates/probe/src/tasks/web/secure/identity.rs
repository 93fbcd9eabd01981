//! A server's certificate, made for one task and kept in memory; its client trusts that one only.

use crate::protocol::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::{Deserialize, Deserializer, de::Error};
use std::sync::Arc;

/// The name in each certificate.
pub const NAME: &str = "culvert";
const REMEDY: &str = "report this as a bug of culvert-probe";

pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// A server's certificate, as its client is given it.
#[derive(Debug)]
pub struct Certificate(CertificateDer<'static>);

impl<'de> Deserialize<'de> for Certificate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Certificate, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        Ok(Certificate(CertificateDer::from(bytes)))
    }
}

impl Identity {
    pub fn new() -> Result<Identity, Failure> {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()])
            .map_err(|error| Failure::new("certificate", error.to_string(), REMEDY))?;
        Ok(Identity {
            certificate: made.cert.der().clone(),
            key: PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into(),
        })
    }

    /// In base64, for the client's request.
    pub fn certificate(&self) -> String {
        STANDARD.encode(&self.certificate)
    }

    /// TLS 1.3 for one application protocol (ALPN).
    pub fn server(&self, protocol: &[u8]) -> Result<ServerConfig, Failure> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| {
                builder.with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            })
            .map_err(|error| Failure::new("TLS", error.to_string(), REMEDY))?;
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(config)
    }
}

/// Each connection makes a full handshake.
pub fn client(certificate: &Certificate, protocol: &[u8]) -> Result<ClientConfig, Failure> {
    let refused = |error: rustls::Error| {
        let remedy = "give the certificate of the server's `ready`";
        Failure::new("certificate", error.to_string(), remedy)
    };
    let mut roots = RootCertStore::empty();
    roots.add(certificate.0.clone()).map_err(refused)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(refused)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}
