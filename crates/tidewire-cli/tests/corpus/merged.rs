//! Many captures as one input, merged by time: addresses and ports of one meet those of others.

use crate::{
    corpus::{self, Entry},
    record,
};
use tidewire::{Capture, Config};

/// Files that are open at once.
const TOGETHER: usize = 200;

#[test]
fn captures_merged_by_time_keep_every_promise() {
    let Some(entries) = corpus::entries() else { return };
    let readable: Vec<Entry> =
        entries.into_iter().filter(|entry| entry.packets.is_some_and(|count| count > 0)).collect();
    let groups: Vec<(String, &[Entry])> =
        readable.chunks(TOGETHER).map(|group| (format!("{} and after it", group[0].name), group)).collect();
    let differences = corpus::each(
        &groups,
        |(name, _)| name,
        |(_, group)| {
            let paths = group.iter().map(|entry| &entry.path);
            match record::collect(Capture::files(paths).config(Config::default())) {
                Ok(record) => record.broken,
                Err(error) => vec![error.to_string()],
            }
        },
    );
    differences.conclude();
}
