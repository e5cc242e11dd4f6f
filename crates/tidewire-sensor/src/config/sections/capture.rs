//! `[capture]`

use std::ops::Range;
use tidewire_config::Value;

use super::common::Sections;

/// Its keys.
pub const CAPTURE: &[&str] =
    &["interfaces", "files", "filter", "workers", "memory", "ring", "snaplen", "tap", "promiscuous", "sandbox", "nice"];

/// `[capture]`
#[derive(Default)]
pub struct Capture {
    pub interfaces: Vec<(String, Range<usize>)>,
    pub files: Vec<(String, Range<usize>)>,
    pub filter: Option<String>,
    pub workers: Option<usize>,
    pub memory: Option<u64>,
    pub ring: Option<u64>,
    pub snaplen: Option<u32>,
    pub tap: bool,
    pub promiscuous: Option<bool>,
    pub sandbox: Option<bool>,
    pub nice: i32,
}

impl Sections<'_, '_> {
    /// Reads `[capture]`.
    pub fn capture(&mut self, value: &Value<'_>) -> Capture {
        let mut capture = Capture::default();
        let Some(table) = self.document.table(value, "capture", "write [capture]") else { return capture };
        self.keys("capture", table, CAPTURE, |this, key, value| match key {
            "interfaces" => capture.interfaces = this.document.strings(key, value, "[\"eth1\", \"eth3\"]"),
            "files" => capture.files = this.document.strings(key, value, "[\"capture.pcap\"]"),
            "filter" => capture.filter = this.filter(key, value),
            "workers" => {
                let most = tidewire::WORKERS_MAX as i64;
                capture.workers = this.document.whole(key, value, 1, most).map(|workers| workers as usize);
            }
            "memory" => {
                let least = tidewire::WORKER_MEMORY_BYTES_MIN;
                capture.memory = this.document.size(key, value, least, 1 << 50);
            }
            "ring" => capture.ring = this.document.size(key, value, 64 << 10, 64 << 30),
            "snaplen" => {
                capture.snaplen = this.document.size(key, value, 64, 256 << 10).map(|bytes| bytes as u32);
            }
            "tap" => capture.tap = this.document.boolean(key, value).unwrap_or_default(),
            "promiscuous" => capture.promiscuous = this.document.boolean(key, value),
            "sandbox" => capture.sandbox = this.document.boolean(key, value),
            _ => capture.nice = this.document.whole(key, value, -20, 19).unwrap_or_default() as i32,
        });
        capture
    }
}
