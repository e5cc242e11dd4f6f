//! Protocols of commands and replies in lines: SMTP (RFC 5321) and FTP (RFC 959), with their way into TLS (RFC 3207,
//! RFC 4217).

mod exchange;
mod fields;
mod replies;
#[cfg(test)]
mod tests;

pub use fields::{Ftp, Smtp};

pub(crate) use exchange::{Exchange, Kind};
