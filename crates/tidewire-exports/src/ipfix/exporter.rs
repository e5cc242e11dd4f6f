//! Gathers records into messages.

use crate::{
    FlowRecord,
    ipfix::{
        field::{Layout, MILLISECOND_NS, Template, View, ends_ns},
        message::{Header, Message},
        own::TYPES,
    },
    time::SECOND_NS,
};

/// Bytes of a message over UDP: with the headers of UDP, IP and a tunnel it fits into 1,500.
pub const UDP_MESSAGE_BYTES: usize = 1400;

/// Bytes of a message in files and over TCP.
pub const STREAM_MESSAGE_BYTES: usize = 16 << 10;

/// Number of the template of statistics.
const STATISTICS: u16 = 262;

/// Elements of statistics with their lengths: exportingProcessId (the scope), exportedFlowRecordTotalCount,
/// ignoredPacketTotalCount, droppedPacketTotalCount, notSentFlowTotalCount.
const STATISTICS_ELEMENTS: [(u16, u16); 5] = [(144, 4), (42, 8), (164, 8), (135, 8), (166, 8)];

/// Most bytes of the definition of a template of options.
const OPTIONS_TEMPLATE_BYTES: usize = 6 + 6 * 4;

/// Number of the template of the types of our elements.
const ELEMENT_TYPES: u16 = 263;

/// Least and most bytes of a message: room for the templates, and what its header can state.
const MESSAGE_BYTES: std::ops::RangeInclusive<usize> = 512..=65_535;

/// Bytes of a message that a record has not: the headers of the message and of the set, and padding.
const AROUND_RECORD: usize = 16 + 4 + 6;

/// How an exporter works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How a stream becomes records.
    pub layout: Layout,
    /// Observation domain (NetFlow v9: source id).
    pub domain: u32,
    /// Most bytes of a message; 512 to 65,535.
    pub message_bytes_max: usize,
    /// Templates are sent again after so many messages; 0: never.
    pub template_messages: u32,
    /// Templates are sent again after so many seconds; 0: never.
    pub template_seconds: u32,
    /// The enterprise number under which records have elements of our own (RFC 7011 section 3.2); `None`: they have none.
    pub enterprise: Option<u32>,
}

impl Settings {
    /// Over UDP: small messages, templates every 20 of them and every 60 seconds.
    #[must_use]
    pub fn of_datagrams(layout: Layout) -> Self {
        Self {
            layout,
            domain: 1,
            message_bytes_max: UDP_MESSAGE_BYTES,
            template_messages: 20,
            template_seconds: 60,
            enterprise: None,
        }
    }

    /// Over TCP and in files: templates once.
    #[must_use]
    pub fn of_streams(layout: Layout) -> Self {
        let message_bytes_max = STREAM_MESSAGE_BYTES;
        Self { message_bytes_max, template_messages: 0, template_seconds: 0, ..Self::of_datagrams(layout) }
    }
}

/// Statistics of an exporter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that were read and belong to no flow.
    pub ignored_packets: u64,
    /// Packets that were lost before they could be read.
    pub dropped_packets: u64,
    /// Flows whose records could not be sent.
    pub unsent_flows: u64,
}

/// A message that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How many records of flows it has: what is lost with it.
    pub flow_records: u32,
}

/// Makes messages of records.
#[derive(Debug)]
pub struct Exporter {
    settings: Settings,
    templates: [Template; 2],
    message: Message,
    ready: Vec<Encoded>,
    /// Records in messages that are complete (IPFIX), or those messages (NetFlow v9).
    sequence: u32,
    /// Records of flows so far, and in messages that are complete.
    flow_records: u64,
    completed_flow_records: u64,
    /// Messages since templates were sent; `None`: the next one has them.
    since_templates: Option<u32>,
    templates_s: u32,
    /// When the types of elements were sent; `None`: they are to be.
    types_s: Option<u32>,
    export_s: u32,
    boot_ms: Option<u64>,
    /// The time in the header of the message that is filled, where it is not that of its export: NetFlow v9.
    header_s: Option<u32>,
    late_starts: u64,
    left_out: u64,
    /// The record that is made.
    record: Vec<u8>,
}

impl Exporter {
    /// An exporter that begins with templates.
    #[must_use]
    pub fn new(mut settings: Settings) -> Self {
        settings.message_bytes_max = settings.message_bytes_max.clamp(*MESSAGE_BYTES.start(), *MESSAGE_BYTES.end());
        Self {
            settings,
            templates: settings.layout.templates(settings.enterprise),
            message: Message::new(settings.layout == Layout::Netflow9),
            ready: Vec::new(),
            sequence: 0,
            flow_records: 0,
            completed_flow_records: 0,
            since_templates: None,
            templates_s: 0,
            types_s: None,
            export_s: 0,
            boot_ms: None,
            header_s: None,
            late_starts: 0,
            left_out: 0,
            record: Vec::new(),
        }
    }

    /// Adds the records of a stream. `export_s`: now, seconds since the epoch.
    pub fn push(&mut self, flow: &FlowRecord<'_>, export_s: u32) {
        let before_s = std::mem::replace(&mut self.export_s, export_s);
        let template = self.templates[usize::from(flow.key.client.address.is_ipv6())];
        let is_alone = self.settings.layout != Layout::Biflow;
        let sides = if is_alone { 2 } else { 1 };
        for side in (0..sides).filter(|&side| !is_alone || flow.stats[side].packets > 0) {
            if self.settings.layout == Layout::Netflow9 {
                let [start_ns, end_ns] = ends_ns(&flow.stats[side]);
                if end_ns / SECOND_NS >= u32::MAX.into() {
                    self.left_out += 1;
                    continue;
                }
                self.fit(start_ns / MILLISECOND_NS, end_ns / MILLISECOND_NS, before_s);
            }
            let mut record = std::mem::take(&mut self.record);
            record.clear();
            let (boot_ms, bytes_max) = (self.boot_ms(), self.settings.message_bytes_max - AROUND_RECORD);
            View { flow, side, is_alone, boot_ms }.push(&mut record, &template, bytes_max);
            // Making room for it completes the message before.
            self.push_record(template.id, &record);
            self.record = record;
            self.flow_records += 1;
        }
    }

    /// Adds the exporter's statistics. NetFlow v9 has none.
    pub fn push_statistics(&mut self, statistics: &Statistics, export_s: u32) {
        if self.settings.layout == Layout::Netflow9 {
            return;
        }
        self.export_s = export_s;
        let values =
            [self.flow_records, statistics.ignored_packets, statistics.dropped_packets, statistics.unsent_flows];
        // One exporting process, which has no number.
        let mut record = 1_u32.to_be_bytes().to_vec();
        values.iter().for_each(|value| record.extend_from_slice(&value.to_be_bytes()));
        self.push_record(STATISTICS, &record);
    }

    /// Completes the message that is filled, if something is in it.
    pub fn finish_message(&mut self) {
        if self.message.is_empty() {
            return;
        }
        let is_netflow = self.settings.layout == Layout::Netflow9;
        let message = std::mem::replace(&mut self.message, Message::new(is_netflow));
        let records = message.data_records;
        let export_s = self.header_s.take().unwrap_or(self.export_s);
        let uptime_ms = (u64::from(export_s) * 1000).saturating_sub(self.boot_ms.unwrap_or_default()) as u32;
        let (sequence, domain) = (self.sequence, self.settings.domain);
        let bytes = message.finish(Header { export_s, sequence, domain, uptime_ms });
        let flow_records = (self.flow_records - self.completed_flow_records) as u32;
        self.completed_flow_records = self.flow_records;
        self.ready.push(Encoded { bytes, flow_records });
        self.sequence = self.sequence.wrapping_add(if is_netflow { 1 } else { records });
        self.since_templates = self.since_templates.map(|messages| messages.saturating_add(1));
    }

    /// Takes the messages that are complete.
    pub fn take(&mut self) -> Vec<Encoded> {
        std::mem::take(&mut self.ready)
    }

    /// Completes the message that is filled, and begins the next one with templates: for another file or connection.
    pub fn restart(&mut self) {
        self.finish_message();
        self.since_templates = None;
    }

    /// How many records of flows were added.
    #[must_use]
    pub fn flow_records(&self) -> u64 {
        self.flow_records
    }

    /// How many records begin later than their flow did: those of NetFlow v9 hold 49 days.
    #[must_use]
    pub fn late_starts(&self) -> u64 {
        self.late_starts
    }

    /// How many records were left out because their time is later than February 2106: NetFlow v9 states seconds in 32 bits.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Sees to it that the times of a record fit the message that it is added to. NetFlow v9 has times in milliseconds
    /// since the exporter began, in 32 bits, and a message says when that was: one of other days has a base of its own.
    /// `before_s`: when the record before it was exported.
    fn fit(&mut self, start_ms: u64, end_ms: u64, before_s: u32) {
        const MOST_MS: u64 = u32::MAX as u64;
        let second_ms = |second: u32| u64::from(second) * 1000;
        let (boot_ms, header_s) = (self.boot_ms(), self.header_s.unwrap_or(self.export_s));
        let is_inside = |ms: u64| ms.checked_sub(boot_ms).is_some_and(|uptime_ms| uptime_ms <= MOST_MS);
        if [start_ms, end_ms, second_ms(header_s)].into_iter().all(is_inside) {
            return;
        }
        self.header_s.get_or_insert(before_s);
        self.finish_message();
        // Of another time than that of its export: then the header says the flow's.
        let is_recent = second_ms(self.export_s).checked_sub(start_ms).is_some_and(|age_ms| age_ms <= MOST_MS);
        self.header_s = (!is_recent).then(|| u32::try_from(end_ms.div_ceil(1000)).unwrap_or(u32::MAX));
        let last_ms = second_ms(self.header_s.unwrap_or(self.export_s)).max(end_ms);
        let boot_ms = last_ms.saturating_sub(1 << 31).min(start_ms).max(last_ms.saturating_sub(MOST_MS));
        self.boot_ms = Some(boot_ms);
        self.late_starts += u64::from(start_ms < boot_ms);
    }

    /// When the exporter began, milliseconds since the epoch.
    fn boot_ms(&mut self) -> u64 {
        // Half of what a number of 32 bits counts, so that flows that began long before are inside.
        let now_ms = u64::from(self.export_s) * 1000;
        *self.boot_ms.get_or_insert(now_ms.saturating_sub(1 << 31))
    }

    /// Adds a record of data, in the next message if need be, with templates where they are due.
    fn push_record(&mut self, set: u16, record: &[u8]) {
        self.make_room(set, record.len());
        if self.message.is_empty() {
            self.begin_message();
            // Templates may have taken the room.
            self.make_room(set, record.len());
        }
        self.message.push(set, |out| out.extend_from_slice(record));
        self.message.data_records += 1;
    }

    /// Completes the message that is filled if it has no room.
    fn make_room(&mut self, set: u16, bytes: usize) {
        if !self.message.is_empty() && self.message.bytes_with(set, bytes) > self.settings.message_bytes_max {
            self.finish_message();
        }
    }

    fn begin_message(&mut self) {
        self.boot_ms();
        let Settings { template_messages, template_seconds, .. } = self.settings;
        let now_s = self.export_s;
        let by_time = |then_s: u32| template_seconds > 0 && now_s.saturating_sub(then_s) >= template_seconds;
        let are_types_due = self.since_templates.is_none() || self.types_s.is_some_and(by_time);
        let is_due = are_types_due
            || by_time(self.templates_s)
            || self.since_templates.is_some_and(|messages| template_messages > 0 && messages >= template_messages);
        if !is_due {
            return;
        }
        // Many records may be exported in a second: then templates are sent often, and types, which are longer, by time.
        if are_types_due {
            self.types_s = None;
        }
        self.since_templates = Some(0);
        self.templates_s = now_s;
        for template in self.templates {
            let mut bytes = Vec::new();
            template.push_specifications(&mut bytes);
            self.make_room(0, bytes.len() + 4);
            self.message.push_template(&template);
        }
        if self.settings.layout != Layout::Netflow9 {
            self.make_room(0, OPTIONS_TEMPLATE_BYTES);
            self.message.push_options_template(STATISTICS, &STATISTICS_ELEMENTS, 1);
        }
        if let (Some(own), None) = (self.templates[0].own, self.types_s) {
            self.make_room(0, OPTIONS_TEMPLATE_BYTES);
            self.message.push_options_template(ELEMENT_TYPES, &TYPES, 2);
            for record in own.types() {
                self.make_room(ELEMENT_TYPES, record.len());
                self.message.push(ELEMENT_TYPES, |out| out.extend_from_slice(&record));
                self.message.data_records += 1;
            }
            self.types_s = Some(now_s);
        }
    }
}

/// Where the time and the number of the first record stand in a message (RFC 7011 section 3.1).
const TIME: std::ops::Range<usize> = 4..8;
const SEQUENCE: std::ops::Range<usize> = 8..12;

/// A message of IPFIX with templates, for a connection that is made again, or for another file. [`templates_before`] gives it its time and
/// number.
#[must_use]
pub fn templates(settings: Settings) -> Vec<u8> {
    let mut exporter = Exporter::new(settings);
    exporter.begin_message();
    exporter.sequence = exporter.message.data_records.wrapping_neg();
    exporter.finish_message();
    exporter.take().pop().map(|message| message.bytes).unwrap_or_default()
}

/// [`templates`] with the time of the message that follows, and the number that its first record follows.
#[must_use]
pub fn templates_before(templates: &[u8], message: &[u8]) -> Vec<u8> {
    let number_of =
        |message: &[u8]| message.get(SEQUENCE).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
    let number = number_of(templates).wrapping_add(number_of(message));
    let mut templates = templates.to_vec();
    if let (Some(to), Some(from)) = (templates.get_mut(TIME), message.get(TIME)) {
        to.copy_from_slice(from);
    }
    if let Some(to) = templates.get_mut(SEQUENCE) {
        to.copy_from_slice(&number.to_be_bytes());
    }
    templates
}

/// Seconds since the epoch of a packet's time: when a record of a capture file was exported.
#[must_use]
pub fn export_second(ns: u64) -> u32 {
    u32::try_from(ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}

const _: () = assert!(SECOND_NS == 1000 * MILLISECOND_NS);
