//! Figures: Tidewire and its peers on the same traffic, over files, interfaces and the drop-in libpcap.
//!
//! Nothing here is part of the product. The command `tidewire-bench` runs the measurements; correctness is tested in
//! `tidewire-lab`.

pub mod concurrency;
pub mod count;
pub mod feed;
pub mod files;
pub mod hostile;
pub mod live;
pub mod locality;
pub mod machine;
pub mod median;
pub mod pcap;
pub mod peer_output;
pub mod plot;
pub mod program;
pub mod record;
pub mod report;
pub mod sensor;
pub mod sys;
