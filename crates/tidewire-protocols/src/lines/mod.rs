//! Protocols of commands and replies in lines: SMTP (RFC 5321) and FTP (RFC 959), with their way into TLS (RFC 3207,
//! RFC 4217).

mod dialect;
mod exchange;
mod ftp;
mod path;
mod repeats;
mod replies;
mod smtp;
#[cfg(test)]
mod tests;

pub(crate) use exchange::{Exchange, LineProtocol};

/// Longest line that is kept; the rest of a longer one is left out.
const LINE_BYTES_MAX: usize = 1024;
