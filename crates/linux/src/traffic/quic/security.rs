//! Keys and certificate of one flow: self-signed, made for it, and trusted by its other end alone.

use quinn_proto::rustls::RootCertStore;
use quinn_proto::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn_proto::{ClientConfig, ServerConfig, TransportConfig};
use std::error::Error;
use std::sync::Arc;

/// The name in the certificate.
pub(super) const NAME: &str = "receiver.airtcp";

/// The configurations of both ends.
pub(super) fn configurations(
    transport: &Arc<TransportConfig>,
) -> Result<(ClientConfig, ServerConfig), Box<dyn Error + Send + Sync>> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    server.transport_config(Arc::clone(transport));
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(Arc::clone(transport));
    Ok((client, server))
}
