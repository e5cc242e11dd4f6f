//! Summary of a recall: what it found, and what it read for that.

use std::io::Write as _;

use tidewire::CaptureLoss;
use tidewire_archive::{Figures, Note};

use crate::{
    capture_losses,
    error::CliError,
    output::{Object, Out, push_string},
    units::{Bytes, Lasting, counted},
};

/// Times of the first and the last packet, where packets were written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    pub first_ns: Option<u64>,
    pub last_ns: u64,
}

impl Times {
    pub fn add(&mut self, timestamp_ns: u64) {
        self.first_ns = Some(self.first_ns.map_or(timestamp_ns, |first| first.min(timestamp_ns)));
        self.last_ns = self.last_ns.max(timestamp_ns);
    }
}

pub struct Summary {
    pub times: Times,
    pub figures: Figures,
    /// Losses of interfaces in the searched time, where packets were written.
    pub losses: Vec<CaptureLoss>,
    pub notes: Vec<Note>,
}

impl Summary {
    /// Prints it: as a line of text on standard error, or as JSON on standard output; `has_packets`: that has packets.
    pub fn print(&self, json: bool, has_packets: bool) -> Result<(), CliError> {
        if json && !has_packets {
            let mut out = Out::stdout();
            self.push_json(out.buffer());
            return out.flush();
        }
        let mut text = Vec::new();
        if json {
            self.push_json(&mut text);
        } else {
            text = format!("{}\n", self.text()).into_bytes();
            capture_losses::say(&self.losses);
        }
        std::io::stderr().write_all(&text).map_err(CliError::from_output)
    }

    fn text(&self) -> String {
        let Figures { captures, bytes, captures_read, captures_gone, bytes_read, packets, packet_bytes, .. } =
            self.figures;
        let gone = match captures_gone {
            0 => String::new(),
            count => format!("; {} removed before that", counted(count, "segment was", "segments were")),
        };
        let period = match self.times.first_ns {
            Some(first_ns) => format!(", spanning {}", Lasting(self.times.last_ns.saturating_sub(first_ns))),
            None => String::new(),
        };
        let (packets, all) = (counted(packets, "packet", "packets"), counted(captures, "segment", "segments"));
        let (packet_bytes, bytes_read, bytes) = (Bytes(packet_bytes), Bytes(bytes_read), Bytes(bytes));
        format!(
            "{packets}, {packet_bytes} found{period}; read {bytes_read} of {captures_read} out of {all} ({bytes}){gone}"
        )
    }

    fn push_json(&self, out: &mut Vec<u8>) {
        let figures = &self.figures;
        let mut object = Object::open(out);
        object.object("recall", |object| {
            object.number("packets", figures.packets);
            object.number("packet_bytes", figures.packet_bytes);
            if let Some(first_ns) = self.times.first_ns {
                object.number("first_ns", first_ns);
                object.number("last_ns", self.times.last_ns);
            }
            object.number("segments", figures.captures);
            object.number("segments_read", figures.captures_read);
            object.number("segments_removed", figures.captures_gone);
            object.number("bytes", figures.bytes);
            object.number("bytes_read", figures.bytes_read);
            capture_losses::push_json(object, &self.losses);
            object.array("notes", self.notes.iter().map(ToString::to_string), |out, note| push_string(out, &note));
        });
        object.close();
        out.push(b'\n');
    }
}
