//! Limits of delivery, each with its reason. What exceeds one is refused with its name.

use std::time::Duration;

/// Version of the protocol between spooler and collector. Another one is refused.
pub const PROTOCOL_VERSION: u16 = 1;
/// Bytes of a frame's body, at most: what a receiver sets aside for one.
pub const FRAME_BYTES_MAX: usize = 4 << 20;
/// Bytes of a frame's body before the greeting is over: nothing larger is needed then.
pub const GREETING_BYTES_MAX: usize = 1024;
/// Bytes of a batch when it is decompressed, at most. A record of a store has at most half of it.
pub const BATCH_BYTES_MAX: usize = 4 << 20;
/// Bytes after which a spooler ends a batch.
pub const BATCH_BYTES: usize = 1 << 20;
/// Records of a batch, at most.
pub const BATCH_ROWS_MAX: usize = 4096;
/// Batches that a spooler sends before the first of them is acknowledged: the collector decodes one while it stores another.
pub const WINDOW: usize = 4;
/// Bytes of a data key wrapped for recipients, at most: some hundred recipients.
pub const KEY_BYTES_MAX: usize = 64 << 10;
/// Data keys of a frame, at most.
pub const KEYS_MAX: usize = 16;
/// Bytes of the name of a sensor, at most: it is a folder's name at the collector, and a label in certificates.
pub const NAME_BYTES_MAX: usize = 63;
/// Bytes of a reason that one side gives the other.
pub const REASON_BYTES_MAX: usize = 512;
/// How long connecting and greeting may take.
pub const GREETING_TIME: Duration = Duration::from_secs(10);
/// Bytes of a file with keys or certificates.
pub const KEY_FILE_BYTES_MAX: u64 = 1 << 20;

/// Whether this can name a sensor: letters, digits, `-`, `_` and `.`, the first a letter or a digit. So it is a folder's name as well.
#[must_use]
pub fn is_sensor_name(name: &str) -> bool {
    let may_follow = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.len() <= NAME_BYTES_MAX
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(may_follow)
}
