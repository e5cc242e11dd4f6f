//! QUIC Initial packets of clients (RFC 9000, RFC 9001, RFC 9369): version, and the hello inside.

#[cfg(feature = "quic")]
mod exchange;
#[cfg(feature = "quic")]
mod frames;
#[cfg(feature = "quic")]
mod history;
#[cfg(feature = "quic")]
mod packet;
#[cfg(all(test, feature = "quic"))]
mod tests;
#[cfg(not(feature = "quic"))]
mod unread;

#[cfg(feature = "quic")]
pub use history::QuicHistory;
#[cfg(not(feature = "quic"))]
pub use unread::QuicHistory;

#[cfg(feature = "quic")]
pub(crate) use exchange::Exchange;
#[cfg(feature = "quic")]
pub(crate) use packet::{is_initial, is_long};
