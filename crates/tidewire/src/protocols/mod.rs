//! Typed transactions of streams beside their bytes (feature `protocols`): HTTP requests, TLS handshakes, DNS queries and others.
//!
//! | to | use |
//! |---|---|
//! | iterate over transactions of files | [`Capture::transactions`](crate::Capture::transactions) |
//! | call a closure, with interfaces as well | [`Capture::for_each_transaction`](crate::Capture::for_each_transaction) |
//! | get bytes and transactions, run several workers | [`TransactionHandler`] with [`Capture::run_transactions`](crate::Capture::run_transactions) |
//! | add transactions to one of several [`Applications`](crate::Applications) | [`WithTransactions`] |
//! | read fields within a handler of another form | [`ProtocolReader`] |
//! | read fields of bytes without a capture | [`Conversation`] |
//!
//! [`Fields`] has a variant for each protocol, and each variant a structure with documented fields. Protocols are recognised by content,
//! then by port. Certificates need the feature `certificates`, fields of QUIC the feature `quic`.
//!
//! **Limits.** Fields take three eighths of [`Capture::memory`](crate::Capture::memory), the engine has the rest; at least
//! 2 MiB a worker are the engine's. Beyond that part, streams that began first lose their fields ([`ProtocolReader::refused`]).
//! Texts have at most 1 KiB and lists the lengths that their fields state.

mod captures;
mod handler;
mod reader;
mod stream_transaction;
#[cfg(feature = "files")]
mod transactions;

pub use handler::{TransactionHandler, WithTransactions};
pub use reader::{HasConversation, ProtocolReader};
pub use stream_transaction::StreamTransaction;
pub use tidewire_protocols::{
    Answer, App, Attribute, Budget, Certificate, Conversation, Dhcp, DistinguishedName, Dns, DnsQuestion, Fields, Ftp,
    Http, Ntp, Piece, Ports, Quic, Report, Service, Smtp, Socks, Ssh, Tls, Transaction, Value,
};
#[cfg(feature = "files")]
pub use transactions::Transactions;
