//! DHCP (RFC 2131, RFC 2132): each message by itself, since answers may go to everybody.

mod fields;
mod message;

pub use fields::Dhcp;

pub(crate) use message::{is_message, transaction};
