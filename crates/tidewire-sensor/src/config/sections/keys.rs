//! Keys of tables whose names are taken for each other.

/// The keys of `[record]`.
pub const RECORD: &[&str] = &[
    "directory",
    "size",
    "age",
    "free",
    "segment-size",
    "segment-time",
    "compress",
    "encrypt-to",
    "identity",
    "durable",
    "filter",
    "cutoff",
    "snaplen",
    "classes",
    "tunnel-depth",
    "buffer",
    "base-threshold",
    "flows",
    "keep-last",
    "keep-after",
    "keep-memory",
    "trigger",
    "trigger-pattern",
    "trigger-streams",
    "trigger-events",
];
/// The keys of `[records]`.
pub const RECORDS: &[&str] = &["cutoff", "active-timeout", "buffer"];
