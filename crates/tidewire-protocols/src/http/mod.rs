//! HTTP/1.0 and HTTP/1.1 (RFC 9112): requests with their responses, pipelined ones in order.

#[cfg(test)]
mod body_tests;
mod chunks;
mod exchange;
mod framing;
mod head;
mod methods;
#[cfg(test)]
mod missing_tests;
mod pairing;
mod requests;
mod response;
mod side;
#[cfg(test)]
mod tests;

pub(crate) use exchange::Exchange;
pub(crate) use head::{is_field_line, start_line_at_end};
pub(crate) use methods::METHODS;
