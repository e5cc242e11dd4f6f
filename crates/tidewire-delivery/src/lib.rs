//! Delivery of stored events: the spooler, which sends them to destinations; the collector, which receives them from many sensors; keys
//! and certificates for both.
#![forbid(unsafe_code)]

mod client;
pub mod collector;
mod destination;
mod files_read;
mod folder;
pub mod kafka;
pub mod keys;
pub mod limits;
pub mod lines;
pub mod memory;
pub mod protocol;
mod report;
mod settings;
pub mod spooler;
mod tls;

pub use destination::{Destination, Failure, Parcel, Start};
pub use files_read::{FilesError, FilesRead, read_files};
pub use kafka::{KafkaSettings, KafkaTls};
pub use report::{DestinationStatus, SpoolReport, SpoolStatus};
pub use settings::{CollectorSettings, DestinationSettings, FolderSettings, Settings, To};
pub use spooler::{main, run_within};
pub use tidewire_event_store::Row;
