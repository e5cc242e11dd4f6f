//! SOCKS proxies, versions 4, 4a and 5 (RFC 1928, RFC 1929): whom the client asks for. What is inside is looked at as well.

mod exchange;
#[cfg(test)]
mod tests;

pub(crate) use exchange::{Exchange, begins};
