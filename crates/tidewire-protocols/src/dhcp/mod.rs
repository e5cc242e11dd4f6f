//! DHCP (RFC 2131, RFC 2132): each message by itself, since answers may go to everybody.

mod message;

pub(crate) use message::{is_message, transaction};
