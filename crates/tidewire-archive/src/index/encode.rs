//! From packets and records to the sections of an index.

use std::net::IpAddr;

use super::{
    placed::{Jump, Mark, Placed},
    record::{FlowRecord, Term},
    rows::{self, Extent, Row},
    varint,
};

/// Packets of the records of a page, unless one alone has more.
const PAGE_PACKETS_MAX: u64 = 64 << 10;
/// Bytes of a page of terms, before compression, from which on the next one begins.
const TERM_PAGE_BYTES: usize = 8 << 10;
/// Level of zstd: 3 is half as large as none, and as fast to read.
const LEVEL: i32 = 3;

/// Sections of an index, without the summary. See `docs/recorder.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    pub(crate) record_pages: Vec<u8>,
    pub(crate) record_directory: Vec<u8>,
    pub(crate) term_pages: Vec<u8>,
    pub(crate) term_directory: Vec<u8>,
    pub(crate) marks: Vec<u8>,
    pub(crate) records: u64,
    pub(crate) packets: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

impl Sections {
    /// Packets that it knows.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let parts = [&self.record_pages, &self.record_directory, &self.term_pages, &self.term_directory, &self.marks];
        parts.iter().map(|part| part.len()).sum()
    }
}

pub(super) fn encode(packets: &[Placed], jumps: &[Jump], marks: &[Mark], records: &[FlowRecord], gap: u64) -> Sections {
    let mut sections = Sections { packets: packets.len() as u64, ..Sections::default() };
    sections.first_ns = marks.iter().map(|mark| mark.first_ns).min().unwrap_or(u64::MAX);
    sections.last_ns = marks.iter().map(|mark| mark.last_ns).max().unwrap_or(0);
    put_marks(&mut sections.marks, marks);
    let by_flow = ByFlow::sort(packets, jumps, records.len());
    // A number without packets is kept where something of it was cut off.
    let mut order: Vec<u32> = (0..by_flow.flows() as u32).collect();
    let record = |flow: u32| records.get(flow as usize).copied().unwrap_or(FlowRecord::NONE);
    order.retain(|&flow| !by_flow.packets(flow).is_empty() || record(flow).cut_off.iter().any(|cut| cut.packets > 0));
    order.sort_by_key(|&flow| (record(flow).stream, flow));
    sections.records = order.len() as u64;
    if marks.is_empty() {
        // Nothing was written: it has the times of what was cut off.
        sections.first_ns = order.iter().map(|&flow| record(flow).first_ns).min().unwrap_or(u64::MAX);
        sections.last_ns = order.iter().map(|&flow| record(flow).last_ns).max().unwrap_or(0);
    }
    let mut terms = Terms::default();
    let mut page = Page::default();
    for (rank, &flow) in order.iter().enumerate() {
        let record = record(flow);
        Term::of(&record, |term| terms.add(term, rank as u32));
        let own = by_flow.packets(flow);
        if page.rows.len() >= rows::PAGE_RECORDS_MAX || page.packets + own.len() as u64 > PAGE_PACKETS_MAX {
            page.flush(&mut sections);
        }
        page.packets += own.len() as u64;
        let extents = extents(own, gap, &mut page.gaps);
        page.rows.push(Row { record, extents });
    }
    page.flush(&mut sections);
    terms.encode(&mut sections);
    sections
}

fn put_marks(out: &mut Vec<u8>, marks: &[Mark]) {
    varint::put(out, marks.len() as u64);
    let mut before = Mark::NONE;
    for mark in marks {
        varint::put_difference(out, before.offset, mark.offset);
        varint::put_difference(out, before.first, mark.first);
        varint::put_difference(out, before.first_ns, mark.first_ns);
        varint::put_difference(out, mark.first_ns, mark.last_ns);
        before = *mark;
    }
}

/// A packet, as an extent needs it.
#[derive(Clone, Copy, Default)]
struct Lying {
    offset: u64,
    bytes: u32,
    /// Its number in the segment.
    number: u32,
}

/// The packets of each flow, by a sort that counts. What is needed of a packet moves with it: looking it up by its number would
/// miss the cache for each.
struct ByFlow {
    /// Where the packets of each flow begin in `sorted`, and where the last ones end.
    starts: Vec<u32>,
    sorted: Vec<Lying>,
}

impl ByFlow {
    fn sort(packets: &[Placed], jumps: &[Jump], records: usize) -> Self {
        let flows = packets.iter().map(|packet| packet.flow as usize + 1).max().unwrap_or(0).max(records);
        let mut starts = vec![0_u32; flows + 1];
        for packet in packets {
            starts[packet.flow as usize + 1] += 1;
        }
        for flow in 0..flows {
            starts[flow + 1] += starts[flow];
        }
        let mut next = starts.clone();
        let mut sorted = vec![Lying::default(); packets.len()];
        let (mut offset, mut jumps) = (0, jumps.iter().peekable());
        for (number, packet) in packets.iter().enumerate() {
            while let Some(jump) = jumps.next_if(|jump| jump.packet == number) {
                offset = jump.offset;
            }
            let place = &mut next[packet.flow as usize];
            sorted[*place as usize] = Lying { offset, bytes: packet.block_bytes, number: number as u32 };
            offset += u64::from(packet.block_bytes);
            *place += 1;
        }
        Self { starts, sorted }
    }

    fn flows(&self) -> usize {
        self.starts.len() - 1
    }

    fn packets(&self, flow: u32) -> &[Lying] {
        let (start, end) = (self.starts[flow as usize] as usize, self.starts[flow as usize + 1] as usize);
        &self.sorted[start..end]
    }
}

/// The extents of a record's packets. Where others lie between them, how many goes to `gaps`.
fn extents(own: &[Lying], gap: u64, gaps: &mut Vec<u8>) -> Vec<Extent> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut before = 0;
    for &Lying { offset, bytes, number } in own {
        let end = offset + u64::from(bytes);
        match extents.last_mut() {
            Some(extent) if offset <= extent.end() + gap => {
                varint::put(gaps, u64::from(number - before - 1));
                extent.bytes = end - extent.offset;
                extent.packets += 1;
            }
            _ => extents.push(Extent { offset, bytes: end - offset, packets: 1, first: u64::from(number) }),
        }
        before = number;
    }
    extents
}

/// A page of records that is being filled.
#[derive(Default)]
struct Page {
    rows: Vec<Row>,
    gaps: Vec<u8>,
    packets: u64,
}

impl Page {
    fn flush(&mut self, sections: &mut Sections) {
        let Some(first) = self.rows.first() else { return };
        let directory = &mut sections.record_directory;
        varint::put(directory, first.record.stream);
        varint::put(directory, self.rows.len() as u64);
        for part in [&rows::encode(&self.rows), &self.gaps] {
            put_page(directory, &mut sections.record_pages, part);
        }
        *self = Self::default();
    }
}

/// Appends a page, and what is to be known of it.
fn put_page(directory: &mut Vec<u8>, pages: &mut Vec<u8>, plain: &[u8]) {
    let stored = zstd::bulk::compress(plain, LEVEL).unwrap_or_default();
    varint::put(directory, plain.len() as u64);
    varint::put(directory, stored.len() as u64);
    directory.extend_from_slice(&crc32c::crc32c(&stored).to_le_bytes());
    pages.extend_from_slice(&stored);
}

/// Terms with the ranks of the records that have them; those of one kind in one number, so that they sort fast.
#[derive(Default)]
struct Terms {
    unknown: Vec<u64>,
    v4: Vec<u64>,
    v6: Vec<(u128, u32)>,
    ports: Vec<u64>,
    protos: Vec<u64>,
    vlans: Vec<u64>,
}

impl Terms {
    fn add(&mut self, term: Term, rank: u32) {
        let coded = |number: u32| u64::from(number) << 32 | u64::from(rank);
        match term {
            Term::Unknown => self.unknown.push(coded(0)),
            Term::Address(IpAddr::V4(address)) => self.v4.push(coded(address.to_bits())),
            Term::Address(IpAddr::V6(address)) => self.v6.push((address.to_bits(), rank)),
            Term::Port(port) => self.ports.push(coded(port.into())),
            Term::Proto(proto) => self.protos.push(coded(proto.into())),
            Term::Vlan(vlan) => self.vlans.push(coded(vlan.into())),
        }
    }

    fn encode(mut self, sections: &mut Sections) {
        let mut out = TermPage::default();
        let mut each = |all: &mut Vec<u64>, term: fn(u32) -> Term| {
            all.sort_unstable();
            all.dedup();
            for group in all.chunk_by(|a, b| a >> 32 == b >> 32) {
                let number = group.first().map_or(0, |coded| (coded >> 32) as u32);
                out.put(term(number), group.iter().map(|coded| *coded as u32), sections);
            }
        };
        each(&mut self.unknown, |_| Term::Unknown);
        each(&mut self.v4, |bits| Term::Address(std::net::Ipv4Addr::from_bits(bits).into()));
        self.v6.sort_unstable();
        self.v6.dedup();
        for group in self.v6.chunk_by(|a, b| a.0 == b.0) {
            let bits = group.first().map_or(0, |coded| coded.0);
            let term = Term::Address(std::net::Ipv6Addr::from_bits(bits).into());
            out.put(term, group.iter().map(|coded| coded.1), sections);
        }
        let mut each = |all: &mut Vec<u64>, term: fn(u32) -> Term| {
            all.sort_unstable();
            all.dedup();
            for group in all.chunk_by(|a, b| a >> 32 == b >> 32) {
                let number = group.first().map_or(0, |coded| (coded >> 32) as u32);
                out.put(term(number), group.iter().map(|coded| *coded as u32), sections);
            }
        };
        each(&mut self.ports, |port| Term::Port(port as u16));
        each(&mut self.protos, |proto| Term::Proto(proto as u8));
        each(&mut self.vlans, |vlan| Term::Vlan(vlan as u16));
        out.flush(sections);
    }
}

/// A page of terms that is being filled.
#[derive(Default)]
struct TermPage {
    first: Vec<u8>,
    last: Vec<u8>,
    bytes: Vec<u8>,
}

impl TermPage {
    fn put(&mut self, term: Term, ranks: impl ExactSizeIterator<Item = u32>, sections: &mut Sections) {
        if self.bytes.len() >= TERM_PAGE_BYTES {
            self.flush(sections);
        }
        let mut key = Vec::new();
        term.encode(&mut key);
        if self.bytes.is_empty() {
            self.first.clone_from(&key);
            self.last.clear();
        }
        let shared = key.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        varint::put(&mut self.bytes, shared as u64);
        varint::put(&mut self.bytes, (key.len() - shared) as u64);
        self.bytes.extend_from_slice(key.get(shared..).unwrap_or_default());
        varint::put(&mut self.bytes, ranks.len() as u64);
        // Lengths before ranks, so that a reader can step over them.
        let mut list = Vec::new();
        let mut before = 0;
        for rank in ranks {
            varint::put(&mut list, u64::from(rank - before));
            before = rank;
        }
        varint::put(&mut self.bytes, list.len() as u64);
        self.bytes.extend_from_slice(&list);
        self.last = key;
    }

    fn flush(&mut self, sections: &mut Sections) {
        if self.bytes.is_empty() {
            return;
        }
        let directory = &mut sections.term_directory;
        varint::put(directory, self.first.len() as u64);
        directory.extend_from_slice(&self.first);
        put_page(directory, &mut sections.term_pages, &self.bytes);
        self.bytes.clear();
    }
}
