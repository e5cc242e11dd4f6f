//! `ipfix`, `ipfix-uniflow` and `netflow9`: messages of records, to files and collectors.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use tidewire_exports::{
    FlowRecord,
    ipfix::{self, Exporter, Layout},
};
use tidewire_types::counted;

use super::message_files::{self, MessageFiles};
use crate::{
    error::{Notify, OutputError},
    facts::Facts,
    files::{Frame, open_files},
    locking::lock,
    network::{Collector, Sending},
    record::Record,
    settings::Settings,
    sink::{Account, Call, Failure, Needs, Sink},
    target::{Format, OutputDestination},
    write_behind::WriteBehind,
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
    /// When the first record of the file was added; 0: none was. And how long a file lasts.
    file_ns: u64,
    file_ns_max: Option<u64>,
    /// Whether it is finished: no record waits any more.
    is_over: bool,
    /// Messages on their way to a file.
    framed: Vec<u8>,
    /// Records that were passed to a collector.
    sent_records: u64,
    notify: Notify,
}

enum Output {
    Files(Arc<WriteBehind<MessageFiles>>),
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
            None => {
                let files = open_files(place, Frame::Messages, settings, now_ns)?;
                let files = MessageFiles::new(files, ipfix::templates(of_streams));
                (Output::Files(Arc::new(WriteBehind::new(files, settings))), false)
            }
        };
        let exported = match is_datagrams {
            true => ipfix::Settings { enterprise, ..ipfix::Settings::of_datagrams(layout) },
            false => of_streams,
        };
        let writer = Writer {
            exporter: Exporter::new(exported),
            output,
            waiting_ns: 0,
            file_ns: 0,
            file_ns_max: settings.rotate.ns,
            is_over: false,
            framed: Vec::new(),
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
        match *record {
            Record::Flow(ended) => {
                let flow = ended.rest.unwrap_or(ended.flow);
                // A stream that did nothing since the record before has no further one.
                if ended.rest.is_none() || flow.stats.iter().any(|stats| stats.packets > 0) {
                    lock(&self.writer).push(flow, call);
                }
            }
            Record::Interim(flow) => lock(&self.writer).push(flow, call),
            Record::Statistics(facts) => lock(&self.writer).statistics(facts, call),
            _ => {}
        }
    }

    fn flush(&self, call: &mut Call<'_>) {
        lock(&self.writer).flush(call);
    }

    fn begin_end(&self, now_ns: u64, is_whole: bool) {
        lock(&self.writer).begin_end(now_ns, is_whole);
    }

    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError> {
        // A worker that adds a record meanwhile waits for no disk.
        let files = lock(&self.writer).finish(now_ns, is_whole)?;
        files.map_or(Ok(()), |files| files.finish(now_ns, is_whole))
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
            Output::Files(files) => files.of_writer(MessageFiles::folder),
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
    fn account(&self) -> Account {
        match &self.output {
            Output::Files(files) => files.account(),
            Output::Collector(collector) => {
                let (accepted, lost, written) =
                    (self.sent_records, collector.unsent_records(), collector.sent_records());
                let unfinished = accepted.saturating_sub(lost + written);
                Account { accepted, written, unfinished, lost, ..Account::default() }
            }
        }
    }

    fn unsent_records(&self) -> u64 {
        match &self.output {
            Output::Files(_) => 0,
            Output::Collector(collector) => collector.unsent_records(),
        }
    }

    fn push(&mut self, flow: &FlowRecord<'_>, call: &mut Call<'_>) {
        self.end_file(call);
        self.exporter.push(flow, ipfix::export_second(call.now_ns));
        if self.file_ns == 0 {
            self.file_ns = call.now_ns.max(1);
        }
        self.pass_with_last(call);
    }

    /// Completes the message whose file's time has come: what is added then belongs to the next one.
    fn end_file(&mut self, call: &mut Call<'_>) {
        let age_ns = call.now_ns.saturating_sub(self.file_ns);
        if self.file_ns != 0 && self.file_ns_max.is_some_and(|most| age_ns >= most) {
            self.file_ns = 0;
            self.exporter.finish_message();
            self.pass(call);
        }
    }

    /// Passes on messages that are complete; the record that was added last waits in the next one.
    fn pass_with_last(&mut self, call: &mut Call<'_>) {
        if self.is_over {
            self.exporter.finish_message();
        }
        let is_first = self.waiting_ns == 0;
        if self.pass(call) || is_first {
            self.waiting_ns = call.now_ns.max(1);
        }
    }

    /// Passes on messages that are complete, as of the time when their first record was added. Returns whether there were some.
    fn pass(&mut self, call: &mut Call<'_>) -> bool {
        let messages = self.exporter.take();
        let begun_ns = if self.waiting_ns == 0 { call.now_ns } else { self.waiting_ns };
        if !messages.is_empty() {
            self.waiting_ns = 0;
        }
        for message in &messages {
            match &mut self.output {
                Output::Files(files) => {
                    self.framed.clear();
                    message_files::push_framed(&mut self.framed, message);
                    let records = message.flow_records.into();
                    files.push(&self.framed, records, begun_ns, |_| call.failures.push(Failure::Output));
                }
                Output::Collector(collector) => {
                    self.sent_records += u64::from(message.flow_records);
                    collector.send(message.clone());
                }
            }
        }
        if matches!(&self.output, Output::Collector(collector) if collector.has_failed()) {
            call.failures.push(Failure::Output);
        }
        !messages.is_empty()
    }

    fn flush(&mut self, call: &mut Call<'_>) {
        if self.waiting_ns != 0 && call.now_ns.saturating_sub(self.waiting_ns) >= MESSAGE_WAIT_NS {
            self.exporter.finish_message();
        }
        self.end_file(call);
        self.pass(call);
        if let Output::Files(files) = &self.output {
            files.flush(call.now_ns, |_| call.failures.push(Failure::Output));
        }
    }

    /// Adds what the exporter says of itself.
    fn statistics(&mut self, facts: &Facts, call: &mut Call<'_>) {
        let statistics = ipfix::Statistics {
            ignored_packets: facts.ignored,
            dropped_packets: facts.dropped.unwrap_or_default(),
            unsent_flows: self.unsent_records(),
        };
        self.exporter.push_statistics(&statistics, ipfix::export_second(call.now_ns));
        self.pass_with_last(call);
    }

    /// Passes on everything, without waiting for files.
    fn begin_end(&mut self, now_ns: u64, is_whole: bool) {
        self.exporter.finish_message();
        self.pass(&mut Call::at(now_ns, &mut Vec::new()));
        self.is_over = true;
        if let Output::Files(files) = &self.output {
            files.begin_end(now_ns, is_whole);
        }
    }

    /// Passes on everything. Returns the files, which are still to be completed.
    fn finish(&mut self, now_ns: u64, is_whole: bool) -> Result<Option<Arc<WriteBehind<MessageFiles>>>, OutputError> {
        self.begin_end(now_ns, is_whole);
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
            Output::Files(files) => Ok(Some(Arc::clone(files))),
            Output::Collector(collector) => collector.finish().map(|()| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, thread};

    use tidewire_testing::wait_until;

    use super::*;
    use crate::Room;

    /// While the end waits for a disk that stalls, workers add records, and find that they are lost.
    #[test]
    fn an_end_that_waits_for_a_disk_holds_no_worker_up() {
        let place = tempfile::tempdir().unwrap();
        let file = OutputDestination::Path(place.path().join("flows.ipfix"));
        let settings = Settings { room: Some(Room::alone(64 << 10)), ..Settings::default() };
        let messages = Messages::open(Format::Ipfix, &file, &settings, 1).unwrap();
        let files = match &lock(&messages.writer).output {
            Output::Files(files) => Arc::clone(files),
            Output::Collector(_) => panic!("a file"),
        };
        let ((stall, stalls), (go_on, goes_on)) = (channel(), channel::<()>());
        thread::scope(|scope| {
            // As a write that does not return.
            let stalling = Arc::clone(&files);
            scope.spawn(move || {
                stalling.of_writer(|_| {
                    stall.send(()).unwrap();
                    goes_on.recv().unwrap();
                });
            });
            stalls.recv().unwrap();
            messages.write(&Record::Statistics(&Facts::default()), &mut Call::at(1, &mut Vec::new()));
            files.flush(1, |_| ());
            let end = scope.spawn(|| messages.finish(2, true));
            wait_until("the end waits", || messages.writer.try_lock().is_ok_and(|writer| writer.is_over));
            let has_waited = end.is_finished();
            messages.write(&Record::Statistics(&Facts::default()), &mut Call::at(3, &mut Vec::new()));
            go_on.send(()).unwrap();
            assert!(!has_waited, "a worker waited as long as the end");
            let _ = end.join().unwrap();
        });
    }
}
