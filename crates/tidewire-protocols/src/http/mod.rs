//! HTTP/1.0 and HTTP/1.1 (RFC 9112): requests with their responses, pipelined ones in order.

#[cfg(test)]
mod body_tests;
mod exchange;
mod fields;
mod head;
#[cfg(test)]
mod missing_tests;
mod pairing;
mod requests;
mod response;
mod side;
#[cfg(test)]
mod tests;

pub use fields::Http;

pub(crate) use exchange::Exchange;
pub(crate) use head::{is_field_line, start_line_at_end};
