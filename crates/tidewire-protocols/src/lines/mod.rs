//! Protocols of commands and replies in lines: SMTP (RFC 5321) and FTP (RFC 959), with their way into TLS (RFC 3207,
//! RFC 4217).

mod exchange;
mod fields;
mod ftp;
mod path;
mod replies;
mod smtp;
#[cfg(test)]
mod tests;

pub use fields::{Ftp, Smtp};

pub(crate) use exchange::{Exchange, Kind};

use crate::transaction::Fields;

/// The effect of a command on the session.
#[derive(Debug, Default)]
struct Step {
    /// Bytes behind the command that are no lines.
    skip: u64,
    /// The transaction that was complete before the command.
    finished: Option<Fields>,
}
