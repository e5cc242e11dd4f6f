//! `ipfix`, `ipfix-uniflow` and `netflow9`: messages of records, to files and collectors.

use std::{path::PathBuf, sync::Mutex};

use tidewire_exports::{
    FlowRecord,
    ipfix::{self, Exporter, Layout},
};
use tidewire_types::counted;

use crate::{
    error::{Notify, OutputError},
    facts::Facts,
    files::{Files, Frame, lock, open_files},
    network::{Collector, Sending},
    record::Record,
    settings::Settings,
    sink::{Account, Call, Failure, Needs, Sink},
    target::{Format, OutputDestination},
};

/// How long records wait in a message that is not full, nanoseconds.
const MESSAGE_WAIT_NS: u64 = 1_000_000_000;

/// Messages of records, and where they go.
pub struct Messages {
    writer: Mutex<Writer>,
    has_own_elements: bool,
}

struct Writer {
    exporter: Exporter,
    output: Output,
    /// When the oldest record that waits was added; 0: none waits.
    waiting_ns: u64,
    /// Records that were passed to a collector.
    sent_records: u64,
    notify: Notify,
}

enum Output {
    Files(Box<Files>),
    Collector(Collector),
}

impl Messages {
    /// Opens the file, or connects to the collector.
    pub fn open(
        format: Format,
        place: &OutputDestination,
        settings: &Settings,
        now_ns: u64,
    ) -> Result<Self, OutputError> {
        let enterprise = settings.enterprise;
        let layout = match format {
            Format::IpfixUniflow => Layout::Uniflow,
            Format::Netflow9 => Layout::Netflow9,
            _ => Layout::Biflow,
        };
        let of_streams = ipfix::Settings { enterprise, ..ipfix::Settings::of_streams(layout) };
        let sending = Sending::of(settings);
        let (output, is_datagrams) = match Collector::connect(place, || ipfix::templates(of_streams), &sending)? {
            Some(collector) => {
                let is_datagrams = collector.is_datagrams();
                (Output::Collector(collector), is_datagrams)
            }
            None => (Output::Files(Box::new(open_files(place, Frame::Messages, settings, now_ns)?)), false),
        };
        let exported = match is_datagrams {
            true => ipfix::Settings { enterprise, ..ipfix::Settings::of_datagrams(layout) },
            false => of_streams,
        };
        let writer = Writer {
            exporter: Exporter::new(exported),
            output,
            waiting_ns: 0,
            sent_records: 0,
            notify: settings.notify.clone(),
        };
        Ok(Self { writer: Mutex::new(writer), has_own_elements: enterprise.is_some() })
    }
}

impl Sink for Messages {
    fn needs(&self) -> Needs {
        Needs { interim: true, content: self.has_own_elements, ..Needs::default() }
    }

    fn write(&self, record: &Record<'_>, call: &mut Call<'_>) {
        let mut writer = match *record {
            Record::Flow(ended) => {
                let flow = ended.rest.unwrap_or(ended.flow);
                // A stream that did nothing since the record before has no further one.
                if ended.rest.is_some() && flow.stats.iter().all(|stats| stats.packets == 0) {
                    return;
                }
                let mut writer = lock(&self.writer);
                writer.push(flow, call.now_ns);
                writer
            }
            Record::Interim(flow) => {
                let mut writer = lock(&self.writer);
                writer.push(flow, call.now_ns);
                writer
            }
            Record::Statistics(facts) => {
                let mut writer = lock(&self.writer);
                writer.statistics(facts, call.now_ns);
                writer
            }
            _ => return,
        };
        writer.note(call);
    }

    fn flush(&self, call: &mut Call<'_>) {
        let mut writer = lock(&self.writer);
        writer.flush(call.now_ns);
        writer.note(call);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        lock(&self.writer).finish(now_ns, is_whole)
    }

    fn account(&self) -> Account {
        lock(&self.writer).account()
    }

    fn away(&self) -> Option<String> {
        match &lock(&self.writer).output {
            Output::Files(_) => None,
            Output::Collector(collector) => collector.away(),
        }
    }

    fn folder(&self) -> Option<PathBuf> {
        match &lock(&self.writer).output {
            Output::Files(files) => files.folder(),
            Output::Collector(_) => None,
        }
    }

    fn ports(&self) -> Vec<u16> {
        match &lock(&self.writer).output {
            Output::Files(_) => Vec::new(),
            Output::Collector(collector) => collector.ports(),
        }
    }
}

impl Writer {
    fn note(&mut self, call: &mut Call<'_>) {
        let has_failed = match &self.output {
            Output::Files(files) => files.has_failed(),
            Output::Collector(collector) => collector.has_failed(),
        };
        if has_failed {
            call.failures.push(Failure::Output);
        }
    }

    fn account(&self) -> Account {
        match &self.output {
            Output::Files(files) => files.account(),
            Output::Collector(collector) => {
                let (accepted, lost) = (self.sent_records, collector.unsent_records());
                Account { accepted, written: accepted.saturating_sub(lost), lost, ..Account::default() }
            }
        }
    }

    fn unsent_records(&self) -> u64 {
        match &self.output {
            Output::Files(_) => 0,
            Output::Collector(collector) => collector.unsent_records(),
        }
    }

    fn push(&mut self, flow: &FlowRecord<'_>, now_ns: u64) {
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
                files.push_message(&message.bytes, message.flow_records.into(), now_ns);
            }
            files.complete(now_ns);
        }
    }

    fn pass(&mut self, now_ns: u64) {
        // Nothing waits for a file that was given up.
        if matches!(&self.output, Output::Files(files) if files.is_over()) {
            self.exporter.finish_message();
        }
        for message in self.exporter.take() {
            match &mut self.output {
                Output::Files(files) => files.push_message(&message.bytes, message.flow_records.into(), now_ns),
                Output::Collector(collector) => {
                    self.sent_records += u64::from(message.flow_records);
                    collector.send(message);
                }
            }
            self.waiting_ns = 0;
        }
    }

    fn flush(&mut self, now_ns: u64) {
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
    fn statistics(&mut self, facts: &Facts, now_ns: u64) {
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

    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        self.exporter.finish_message();
        self.pass(now_ns);
        let late = self.exporter.late_starts();
        if late > 0 {
            let records = counted(late, "record begins", "records begin");
            (self.notify)(format_args!("{records} later than the flow: NetFlow v9 has room for 49 days; use IPFIX"));
        }
        let left_out = self.exporter.left_out();
        if left_out > 0 {
            let records = counted(left_out, "record was", "records were");
            (self.notify)(format_args!("{records} left out: NetFlow v9 has no times after February 2106; use IPFIX"));
        }
        match &mut self.output {
            Output::Files(files) => files.finish(now_ns, is_whole),
            Output::Collector(collector) => collector.finish(),
        }
    }
}
