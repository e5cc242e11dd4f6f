//! NTP (RFC 5905): a client's request with the server's answer, or a message by itself.

mod exchange;

pub(crate) use exchange::{Exchange, is_message};
