//! Cases as files: `tests/corpus/pn-<name>/case.pcap`, `expected.json` and a README.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::{Answer, Script, play, scripts};
use crate::{oracle::network::Network, pcapfile::Writer};

/// The contents of `expected.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Purpose of the case.
    pub shows: String,
    /// The system that gave the answer.
    pub answered_by: String,
    /// Engine settings that the case needs, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, u32>,
    /// Bytes that the application on the host received from the client: ASCII.
    pub c2s: String,
}

/// Timestamp of the first packet; packets are one millisecond apart.
const START_US: u64 = 1_700_000_000_000_000;

/// Plays every script whose name contains `name` and writes the cases. Returns a line for each.
///
/// # Errors
/// The error of the kernel or the file system; root is required.
pub fn write(folder: &Path, name: &str) -> io::Result<Vec<String>> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let answered_by = format!("Linux {}", kernel.split('-').next().unwrap_or_default().trim());
    let wanted: Vec<Script> = scripts().into_iter().filter(|script| script.name.contains(name)).collect();
    Network::inside(|network| {
        let mut lines = Vec::new();
        for (number, script) in wanted.iter().enumerate() {
            let answer = play(network, script, number as u16)
                .map_err(|error| io::Error::other(format!("{}: {error}", script.name)))?;
            write_case(folder, script, &answer, &answered_by)?;
            let text: String = String::from_utf8_lossy(&answer.received).chars().take(40).collect();
            lines.push(format!(
                "{}: {} packets, {} bytes: {text}",
                script.name,
                answer.packets.len(),
                answer.received.len()
            ));
        }
        Ok(lines)
    })
}

fn write_case(folder: &Path, script: &Script, answer: &Answer, answered_by: &str) -> io::Result<()> {
    let folder = folder.join(format!("pn-{}", script.name));
    fs::create_dir_all(&folder)?;
    let mut writer = Writer::create(&folder.join("case.pcap"))?;
    for (time_us, frame) in (START_US..).step_by(1000).zip(&answer.packets) {
        writer.write(time_us, frame)?;
    }
    writer.finish()?;
    let c2s = String::from_utf8(answer.received.clone()).map_err(io::Error::other)?;
    let settings = script.settings.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let expected = Expected { shows: script.shows.into(), answered_by: answered_by.into(), settings, c2s };
    let json = serde_json::to_string_pretty(&expected).map_err(io::Error::other)?;
    fs::write(folder.join("expected.json"), json + "\n")?;
    let readme = format!(
        "# {}\n\n{}.\n\nMade by `tidewire-lab evasion tests/corpus` (Ptacek and Newsham's insertion and evasion): \
         sent to a real listening socket; `expected.json` is what its application received.\n",
        script.name, script.shows
    );
    fs::write(folder.join("README.md"), readme)
}
