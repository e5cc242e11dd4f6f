//! Packets that were found, written as pcapng.

use std::path::Path;

use tidewire::{CaptureLoss, Source as _, Stop, Timestamp};
use tidewire_archive::{
    Figures, InterfaceLoss, Recall,
    block::{Interface, Statistics},
};

use super::summary::Times;
use crate::{
    error::{self, CliError},
    packet_file::{Captured, PacketFile},
};

/// Writes all that a recall finds, with the options that its packets have, and what interfaces lost meanwhile.
pub fn write(mut recall: Recall, path: &Path, stop: &Stop) -> Result<(Times, Figures, Vec<CaptureLoss>, u8), CliError> {
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
            // Readable packets of the others are written all the same.
            Err(problem) => {
                error::notify(problem);
                code = error::INPUT;
                continue;
            }
        };
        times.add(frame.timestamp.as_nanos());
        file.supplement(&recall.take_supplements());
        let captured = Captured {
            interface: frame.interface,
            link: frame.link,
            timestamp_ns: frame.timestamp.as_nanos(),
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
    push_losses(&file, &recall);
    file.finish(is_whole)?;
    Ok((times, recall.figures(), recall.losses(), code))
}

/// Writes what interfaces lost in the searched time as their statistics, also of interfaces of which no packet was found.
fn push_losses(file: &PacketFile, recall: &Recall) {
    let known = recall.interfaces();
    for (place, loss) in recall.interface_losses().iter().enumerate() {
        let is_own = |interface: &Interface| interface.name == loss.name && interface.link == loss.link;
        let number = known.iter().position(is_own);
        let unknown = Interface::new(loss.name.clone(), loss.link);
        let interface = number.and_then(|number| known.get(number)).unwrap_or(&unknown);
        let number = number.unwrap_or(known.len() + place);
        file.push_statistics(u16::try_from(number).unwrap_or(u16::MAX), interface, &statistics(loss));
    }
}

fn statistics(loss: &InterfaceLoss) -> Statistics {
    Statistics {
        timestamp: Timestamp::from_nanos(loss.to_ns),
        start: Some(Timestamp::from_nanos(loss.from_ns)),
        end: Some(Timestamp::from_nanos(loss.to_ns)),
        dropped: Some(loss.dropped),
        system_dropped: Some(loss.system_dropped),
        ..Statistics::default()
    }
}
