//! Messages of IPFIX and NetFlow, to files and collectors.

use std::path::PathBuf;

use tidewire_exports::{
    FlowRecord,
    ipfix::{self, Exporter, Layout},
};

use super::{
    facts::Facts,
    file::{Files, Frame, open_files},
    network::{Collector, Sending},
    rotate::Rotate,
    target::{Format, Place},
};
use crate::{
    error::{self, CliError},
    units::counted,
};

/// How long records wait in a message that is not full, nanoseconds.
const MESSAGE_WAIT_NS: u64 = 1_000_000_000;

/// Messages of records, and where they go.
pub struct Messages {
    exporter: Exporter,
    output: Output,
    /// When the oldest record that waits was added; 0: none waits.
    waiting_ns: u64,
}

enum Output {
    Files(Files),
    Collector(Collector),
}

impl Messages {
    /// `enterprise`: the number under which records have our own elements.
    pub fn open(
        (format, place): (Format, &Place),
        enterprise: Option<u32>,
        rotate: Rotate,
        sending: &Sending,
        now_ns: u64,
    ) -> Result<Self, CliError> {
        let layout = match format {
            Format::IpfixUniflow => Layout::Uniflow,
            Format::Netflow9 => Layout::Netflow9,
            _ => Layout::Biflow,
        };
        let of_streams = ipfix::Settings { enterprise, ..ipfix::Settings::of_streams(layout) };
        let (output, is_datagrams) = match Collector::connect(place, || ipfix::templates(of_streams), sending)? {
            Some(collector) => {
                let is_datagrams = collector.is_datagrams();
                (Output::Collector(collector), is_datagrams)
            }
            None => (Output::Files(open_files(place, Frame::Messages, rotate, now_ns)?), false),
        };
        let settings = match is_datagrams {
            true => ipfix::Settings { enterprise, ..ipfix::Settings::of_datagrams(layout) },
            false => of_streams,
        };
        Ok(Self { exporter: Exporter::new(settings), output, waiting_ns: 0 })
    }

    /// The folder that files are made in.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.output {
            Output::Files(files) => files.folder(),
            Output::Collector(_) => None,
        }
    }

    /// The ports that are connected to again.
    #[cfg(feature = "live")]
    pub fn ports(&self) -> Vec<u16> {
        match &self.output {
            Output::Files(_) => Vec::new(),
            Output::Collector(collector) => collector.ports(),
        }
    }

    fn unsent_records(&self) -> u64 {
        match &self.output {
            Output::Files(_) => 0,
            Output::Collector(collector) => collector.unsent_records(),
        }
    }

    pub fn has_failed(&self) -> bool {
        match &self.output {
            Output::Files(files) => files.has_failed(),
            Output::Collector(collector) => collector.has_failed(),
        }
    }

    pub fn push(&mut self, flow: &FlowRecord<'_>, now_ns: u64) {
        self.rotate(now_ns);
        self.exporter.push(flow, ipfix::export_second(now_ns));
        if let Output::Files(files) = &mut self.output {
            files.touch(now_ns);
        }
        if self.waiting_ns == 0 {
            self.waiting_ns = now_ns.max(1);
        }
        self.pass(now_ns);
    }

    /// A file begins with templates, so what is in the message that is filled belongs to the file before.
    fn rotate(&mut self, now_ns: u64) {
        if let Output::Files(files) = &mut self.output
            // One message that the next record completes, and what is in the message behind it.
            && files.is_due(2 * ipfix::STREAM_MESSAGE_BYTES, now_ns)
        {
            self.exporter.restart();
            for message in self.exporter.take() {
                files.push(&message.bytes, now_ns);
            }
            files.complete(now_ns);
        }
    }

    fn pass(&mut self, now_ns: u64) {
        for message in self.exporter.take() {
            match &mut self.output {
                Output::Files(files) => files.push(&message.bytes, now_ns),
                Output::Collector(collector) => collector.send(message),
            }
            self.waiting_ns = 0;
        }
    }

    pub fn flush(&mut self, now_ns: u64) {
        if self.waiting_ns != 0 && now_ns.saturating_sub(self.waiting_ns) >= MESSAGE_WAIT_NS {
            self.exporter.finish_message();
        }
        self.rotate(now_ns);
        self.pass(now_ns);
        if let Output::Files(files) = &mut self.output {
            files.flush();
        }
    }

    /// Adds what the exporter says of itself.
    pub fn statistics(&mut self, facts: &Facts, now_ns: u64) {
        let statistics = ipfix::Statistics {
            ignored_packets: facts.ignored,
            dropped_packets: facts.dropped.unwrap_or_default(),
            unsent_flows: self.unsent_records(),
        };
        self.exporter.push_statistics(&statistics, ipfix::export_second(now_ns));
        if self.waiting_ns == 0 {
            self.waiting_ns = now_ns.max(1);
        }
        self.pass(now_ns);
    }

    pub fn finish(&mut self, facts: &Facts, now_ns: u64, is_whole: bool) -> Result<(), CliError> {
        self.statistics(facts, now_ns);
        self.exporter.finish_message();
        self.pass(now_ns);
        let late = self.exporter.late_starts();
        if late > 0 {
            let records = counted(late, "record begins", "records begin");
            error::notify(format_args!("{records} later than the flow: NetFlow v9 has room for 49 days; use IPFIX"));
        }
        let left_out = self.exporter.left_out();
        if left_out > 0 {
            let records = counted(left_out, "record was", "records were");
            error::notify(format_args!("{records} left out: NetFlow v9 has no times after February 2106; use IPFIX"));
        }
        match &mut self.output {
            Output::Files(files) => files.finish(now_ns, is_whole),
            Output::Collector(collector) => collector.finish(),
        }
    }
}
