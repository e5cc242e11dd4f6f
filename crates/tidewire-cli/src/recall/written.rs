//! Packets that were found, written as pcapng.

use std::path::Path;

use tidewire::Stop;
use tidewire_archive::{Figures, Recall};

use super::summary::Times;
use crate::{
    error::{self, CliError},
    write::{Captured, PacketFile},
};

/// Writes all that a recall finds, with the options that its packets have.
pub fn write(mut recall: Recall, path: &Path, stop: &Stop) -> Result<(Times, Figures, u8), CliError> {
    let file = PacketFile::open(path, stop)?;
    let (mut times, mut code) = (Times::default(), error::OK);
    let (mut bytes, mut options) = (Vec::new(), Vec::new());
    while !stop.is_stopped() {
        let frame = match recall.next_packet() {
            Ok(None) => break,
            Ok(Some(found)) => {
                bytes.clear();
                bytes.extend_from_slice(found.bytes);
                options.clear();
                options.extend_from_slice(found.options);
                found.frame
            }
            // What can be read of the others is written all the same.
            Err(problem) => {
                error::notify(problem);
                code = error::INPUT;
                continue;
            }
        };
        times.add(frame.timestamp_ns);
        file.supplement(&recall.take_supplements());
        let captured = Captured {
            interface: frame.interface,
            link: frame.link,
            timestamp_ns: frame.timestamp_ns,
            wire_bytes: frame.wire_bytes,
            bytes: &bytes,
        };
        let interface = recall.interfaces().get(usize::from(frame.interface));
        file.push_recorded(&captured, interface, &options);
    }
    let is_whole = !stop.is_stopped();
    if !is_whole && !file.has_failed() {
        error::notify("interrupted; packets read so far were written");
        code = error::INTERRUPTED;
    }
    file.finish(is_whole)?;
    Ok((times, recall.figures(), code))
}
