//! TLS by rustls, with the certificates that the system trusts.

use super::error::DbError;
use crate::StoreError;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Tells whether TLS may be spoken; reading the system's certificates takes longer than a local query.
pub(super) fn is_wanted(config: &Config) -> bool {
    let socket = |host: &Host| !matches!(host, Host::Tcp(_));
    config.get_ssl_mode() != SslMode::Disable && !config.get_hosts().iter().all(socket)
}

pub(super) fn connector() -> Result<MakeRustlsConnect, DbError> {
    let mut roots = RootCertStore::empty();
    // Certificates that do not read are left out; without a fitting one the handshake says so.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::other("cannot set up TLS", error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
