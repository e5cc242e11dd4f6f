//! TLS 1.3 alone, with certificates on both sides. Nothing is resumed: each connection proves again who both sides are.

use std::sync::Arc;

use rustls::{
    ClientConfig, ServerConfig,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::TLS13,
};

use crate::keys::{Credentials, KeyError, Role};

/// Protocol name in both sides' first message, so that no other protocol is taken for it.
pub(super) const ALPN: &[u8] = b"tidewire-events/1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn check_role(credentials: &Credentials, needed: Role) -> Result<(), KeyError> {
    let role = credentials.facts.role;
    if role == needed {
        return Ok(());
    }
    let what = format!("this is the certificate of a {role}; a {needed} needs one that 'tidewire keys {needed}' makes");
    Err(KeyError::Content { path: credentials.path.clone(), what })
}

/// The spooler's side.
///
/// # Errors
/// The key does not belong to the certificate, or the certificate is not that of a sensor.
pub fn client(credentials: Credentials) -> Result<Arc<ClientConfig>, KeyError> {
    check_role(&credentials, Role::Sensor)?;
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| credentials.unusable(error))?;
    let builder = builder.with_root_certificates(Arc::clone(&credentials.authorities));
    let mut config = builder.with_client_cert_resolver(Arc::new(credentials.certified()?));
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
    let verifier = verifier.build().map_err(|error| credentials.unusable(error))?;
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| credentials.unusable(error))?;
    let builder = builder.with_client_cert_verifier(verifier);
    let mut config = builder.with_cert_resolver(Arc::new(credentials.certified()?));
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}
