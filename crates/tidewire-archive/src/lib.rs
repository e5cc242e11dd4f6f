//! Archives of packets: segments in pcapng, each with an index; read by query, verified, and kept within bounds.
#![forbid(unsafe_code)]

mod ages;
mod beside;
mod decode;
mod direct;
mod directory;
mod error;
mod excise;
mod folder;
mod index;
mod index_only;
mod indexing;
mod inflate;
mod listing;
mod lock;
mod manifest;
mod name;
mod origin;
mod publish;
mod query;
mod read_at;
mod recall;
mod remains;
mod repair;
mod reserve;
mod retention;
mod seal;
mod settings;
mod storage;
mod sums;
mod transform;
mod unpacked;
mod unsynced;
mod verify;
mod writer;

pub use ages::Now;
pub use direct::{FolderFile, alignment_gap};
pub use directory::{Directory, Find, Kept};
pub use error::Error;
pub use folder::Folder;
pub use index::{Amount, FlowRecord, IndexBuilder, InterfaceSummary, Outer, PriorityLedger, Sections, Summary};
pub use index_only::IndexResult;
pub use indexing::{FRAGMENTED_DATAGRAMS_MAX, Facts, Fragmented, Fragments, facts};
pub use listing::Segment;
pub use name::{SegmentName, index_of};
pub use query::{Network, Query};
pub use recall::{
    Archive, CLOSED_NS, CutOff, Figures, InterfaceLoss, Note, Overview, PAUSE_NS_MIN, PAUSES_MAX, Pause, Recall,
    Recalled, is_archive,
};
pub use repair::Repaired;
pub use reserve::Reserve;
pub use retention::{Removed, Retention};
pub use seal::{Identities, RECIPIENTS_MAX, Recipients};
pub use settings::{Compression, IndexSettings, Settings};
pub use storage::{Storage, StorageFile};
pub use sums::Checksums;
pub use tidewire_files::encode as block;
pub use tidewire_sealing::KeyError;
pub use transform::{Digest, FRAME_BYTES, Transform, compress_frame};
pub use unsynced::Unsynced;
pub use verify::{Finding, Verification, verify, verify_with};
pub use writer::SegmentWriter;
