//! The fields of each protocol's transactions.

mod dhcp;
mod distinguished_name;
mod dns;
mod http;
mod lines;
mod ntp;
mod quic;
mod socks;
mod ssh;
mod tls;

pub use dhcp::Dhcp;
#[cfg(feature = "certificates")]
pub(crate) use distinguished_name::Writer;
pub use distinguished_name::{Attribute, DistinguishedName};
pub use dns::{Answer, Dns, DnsQuestion};
pub(crate) use http::Body;
pub use http::Http;
pub use lines::{Ftp, Smtp};
pub use ntp::Ntp;
pub use quic::{Quic, QuicEntry};
pub use socks::Socks;
pub use ssh::Ssh;
pub use tls::{Certificate, Tls};
