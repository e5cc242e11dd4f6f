//! TLS 1.3 alone, with certificates on both sides. Nothing is resumed: each connection proves again who both sides are.

use std::sync::Arc;

use rustls::{
    ClientConfig, Error, InconsistentKeys, ServerConfig,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
    version::TLS13,
};

use crate::keys::{Credentials, KeyError, Role};

/// What both sides name in their first message, so that nothing else is taken for them.
const ALPN: &[u8] = b"tidewire-events/1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn unusable(credentials: &Credentials, error: impl std::fmt::Display) -> KeyError {
    KeyError::Content { path: credentials.path.clone(), what: format!("key and certificate cannot be used: {error}") }
}

fn check_role(credentials: &Credentials, needed: Role) -> Result<(), KeyError> {
    let role = credentials.facts.role;
    if role == needed {
        return Ok(());
    }
    let what = format!("this is the certificate of a {role}; a {needed} needs one that 'tidewire keys {needed}' makes");
    Err(KeyError::Content { path: credentials.path.clone(), what })
}

/// Key and certificate as both sides show them. The key is read where it is: copies would stay in memory.
fn shown(credentials: &Credentials) -> Result<SingleCertAndKey, KeyError> {
    let key = ring::sign::any_supported_type(&credentials.key).map_err(|error| unusable(credentials, error))?;
    let certified = CertifiedKey::new(credentials.chain.clone(), key);
    match certified.keys_match() {
        // A kind of key that does not say its public half.
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified.into()),
        Err(error) => Err(unusable(credentials, error)),
    }
}

/// The spooler's side.
///
/// # Errors
/// The key does not belong to the certificate, or the certificate is not that of a sensor.
pub fn client(credentials: Credentials) -> Result<Arc<ClientConfig>, KeyError> {
    check_role(&credentials, Role::Sensor)?;
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| unusable(&credentials, error))?;
    let builder = builder.with_root_certificates(Arc::clone(&credentials.authorities));
    let mut config = builder.with_client_cert_resolver(Arc::new(shown(&credentials)?));
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

/// The collector's side: a sensor without a certificate of the authority is refused.
///
/// # Errors
/// The key does not belong to the certificate, or the certificate is not that of a collector.
pub fn server(credentials: Credentials) -> Result<Arc<ServerConfig>, KeyError> {
    check_role(&credentials, Role::Collector)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&credentials.authorities), provider());
    let verifier = verifier.build().map_err(|error| unusable(&credentials, error))?;
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| unusable(&credentials, error))?;
    let builder = builder.with_client_cert_verifier(verifier);
    let mut config = builder.with_cert_resolver(Arc::new(shown(&credentials)?));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}
