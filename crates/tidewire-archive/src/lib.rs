//! Archives of packets: segments in pcapng, each with an index; read by query, verified, and kept within bounds.
#![forbid(unsafe_code)]

mod ages;
mod direct;
mod directory;
mod error;
mod folder;
mod index;
mod index_only;
mod indexing;
mod inflate;
mod manifest;
mod name;
mod query;
mod read_at;
mod recall;
mod repair;
mod retention;
mod seal;
mod settings;
mod storage;
mod transform;
mod verify;
mod writer;

pub use ages::Now;
pub use direct::{FolderFile, alignment_gap};
pub use directory::{Directory, Kept, Segment};
pub use error::Error;
pub use folder::Folder;
pub use index::{Amount, FlowRecord, IndexBuilder, InterfaceSummary, Outer, PriorityLedger, Sections, Summary};
pub use index_only::IndexResult;
pub use indexing::{Facts, facts};
pub use name::{SegmentName, index_of};
pub use query::{Network, Query};
pub use recall::{Archive, Figures, Note, Recall, Recalled, is_archive};
pub use repair::Repaired;
pub use retention::{Removed, Retention};
pub use seal::{Identities, RECIPIENTS_MAX, Recipients};
pub use settings::{Compression, IndexSettings, Settings};
pub use storage::{Storage, StorageFile};
pub use tidewire_files::encode as block;
pub use transform::{Digest, Transform};
pub use verify::{Finding, Verification, verify, verify_with};
pub use writer::SegmentWriter;
