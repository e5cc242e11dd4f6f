//! Flow records and transactions in the formats that other programs read.
//!
//! Encoders append to buffers of the caller: nothing here reads a clock or writes a file. Text out of the network is escaped by
//! the rules of each format, so that no name, header or certificate ends a record or adds a field.
//!
//! | module | format | read by |
//! |---|---|---|
//! | [`eve`] | EVE JSON, the names and types of Suricata 8 | whatever reads `eve.json` |
//! | [`zeek`] | logs of Zeek: conn, dns, http, ssl, weird; TSV and JSON | `zeek-cut`, whatever reads Zeek's logs |
//! | [`ipfix`] | IPFIX (RFC 7011) with biflows (RFC 5103), files (RFC 5655), NetFlow v9 (RFC 3954) | collectors |
//! | [`records`] | descriptions of records: names, types, units, meanings, getters; JSON and CSV of them | |
//! | [`select`] | expressions on fields of records | |
//! | [`table`] | typed rows: what the next is written from, and databases | |
//! | `columns` (features `arrow`, `parquet`) | Arrow IPC and Parquet | DuckDB, pandas, polars, Spark |
//! | [`json`] | what the others are written with | |
#![forbid(unsafe_code)]

mod app;
#[cfg(feature = "arrow")]
pub mod columns;
pub mod eve;
mod explained;
pub mod ipfix;
pub mod json;
mod model;
mod presentation;
pub mod records;
pub mod select;
pub mod table;
#[cfg(test)]
mod testing;
mod time;
pub mod zeek;

pub use app::{push_app, push_transaction};
pub use explained::{Explained, Explainer, Remaining};
pub use model::{CutOff, DatagramRecord, EventRecord, Exchange, FileRecord, FlowRecord, MatchRecord, Origin};

/// The example of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
