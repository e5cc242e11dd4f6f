//! How fast records become bytes: `cargo run --release -p tidewire-exports --features parquet --example encode_speed [FLOWS [RUNS]]`.
//!
//! One thread encodes streams that are in memory (a fifth each of DNS, TLS and plain TCP, two fifths HTTP), first alone and then each
//! with its transaction; the best of RUNS (5). Nothing is read, reassembled or written to a file: the rest of what a format costs is in
//! `make bench-exports`. Bytes are those of the encoder, so that a change that leaves something out is seen.

use std::{hint::black_box, net::Ipv4Addr, time::Duration, time::Instant};

use tidewire::{DirectionStats, EndReason, Endpoint, FlowKey, TcpState, Timestamp};
use tidewire_exports::{Exchange, FlowRecord, Origin, eve, ipfix, zeek};
use tidewire_protocols::{Answer, App, Dns, Fields, Http, Service, Tls, Transaction};

const START_NS: u64 = 1_795_329_000_000_000_000;

/// A stream, and what was said in it.
struct Flow {
    id: u64,
    key: FlowKey,
    start_ns: u64,
    stats: [DirectionStats; 2],
    app: Option<App>,
}

fn text<T: From<String>>(text: impl Into<String>) -> Option<T> {
    Some(text.into().into())
}

/// A value of a structure that may have more fields.
macro_rules! filled {
    ($type:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let mut one = $type::default();
        $(one.$field = $value;)*
        one
    }};
}

fn said(index: u64, server: Ipv4Addr) -> Option<Fields> {
    let name = || -> Option<Box<str>> { text(format!("host{}.example.org", index % 5000)) };
    Some(match index % 5 {
        0 => {
            let data = server.to_string();
            let answer = Answer::new(name()?, "A", 60, data);
            Fields::Dns(Box::new(filled!(Dns {
                id: index as u16,
                query: name(),
                kind: text("A"),
                questions: 1,
                is_asked: true,
                is_answered: true,
                rcode: text("NOERROR"),
                flags: [0x0100, 0x8180],
                recursion: [true; 2],
                answers: vec![answer],
                counts: [1, 0, 0],
                latency: Some(Duration::from_nanos(1_500_000)),
            })))
        }
        1 | 2 => Fields::Http(Box::new(filled!(Http {
            method: text("GET"),
            host: name(),
            path: text(format!("/page/{index}")),
            version: text("1.1"),
            status: Some(200),
            reason: text("OK"),
            user_agent: text("bench/1.0"),
            content_type: text("text/html"),
            server: text("bench"),
            response_bytes: Some(700),
        }))),
        3 => Fields::Tls(Box::new(filled!(Tls {
            client_version: text("TLS 1.2"),
            sni: name(),
            ja3: text("eb88d0b3e1961a0562f006e5ce2a0b87"),
            ja4: text("t12d020100_62ed6f6ca7ad_0000000000ab"),
            alert: Some(40),
        }))),
        _ => return None,
    })
}

impl Flow {
    fn new(index: u64) -> Self {
        let (client, server) =
            (Ipv4Addr::from(0x0a00_0001 + index as u32 % 60_000), Ipv4Addr::from(0xc633_6401 + index as u32 % 200));
        let (proto, port) = if index.is_multiple_of(5) { (17, 53) } else { (6, 443) };
        let end = |address: Ipv4Addr, port| Endpoint { address: address.into(), port };
        let key = FlowKey::new(end(client, 1024 + (index * 7 % 60_000) as u16), end(server, port), proto);
        let start_ns = START_NS + index * 70_000;
        let stats = [6_u64, 4].map(|packets| {
            let mut stats = DirectionStats::default();
            (stats.packets, stats.frames) = (packets, packets);
            (stats.ip_bytes, stats.frame_bytes, stats.payload_wire_bytes) =
                (packets * 140, packets * 154, packets * 99);
            [stats.start, stats.end] = [start_ns, start_ns + 2_000_000].map(|ns| Some(Timestamp::from_nanos(ns)));
            stats.tcp_flags = 0x1b;
            stats
        });
        let transaction = said(index, server).map(|fields| {
            let service = match fields {
                Fields::Dns(_) => Service::Dns,
                Fields::Http(_) => Service::Http,
                _ => Service::Tls,
            };
            Transaction::new(
                service,
                fields,
                Timestamp::from_nanos(start_ns),
                Timestamp::from_nanos(start_ns + 1_500_000),
            )
        });
        let app = transaction.map(|first| App::new(first.service, 1, Some(first)));
        Self { id: index + 1, key, start_ns, stats, app }
    }

    fn record(&self) -> FlowRecord<'_> {
        let state = if self.key.proto == 6 { TcpState::Closed } else { TcpState::Stateless };
        let mut record = FlowRecord::new(self.id, self.key, state, EndReason::Fin);
        (record.client_known, record.client_by) = (true, tidewire::ClientBy::Handshake);
        [record.start, record.last] = [self.start_ns, self.start_ns + 2_000_000].map(Timestamp::from_nanos);
        record.opened = record.start;
        (record.stats, record.app) = (self.stats, self.app.as_ref());
        record
    }

    fn exchange(&self) -> Option<Exchange<'_>> {
        let transaction = self.app.as_ref()?.first.as_ref()?;
        Some(Exchange::new(
            (self.id, self.key, Timestamp::from_nanos(self.start_ns)),
            0,
            transaction,
            Origin::default(),
        ))
    }
}

/// The bytes that a format makes of streams.
type Encode = fn(&[Flow], bool) -> usize;

/// Bytes that are gathered before they would be written.
const GATHERED_BYTES: usize = 256 << 10;

/// Lines, each passed on as a run does it: encoded, and added to what is gathered.
fn lines(flows: &[Flow], has_transactions: bool, mut each: impl FnMut(&mut Vec<u8>, Line<'_>)) -> usize {
    let (mut scratch, mut gathered, mut bytes) = (Vec::new(), Vec::with_capacity(GATHERED_BYTES + 4096), 0);
    let mut push = |line: Line<'_>| {
        scratch.clear();
        each(&mut scratch, line);
        gathered.extend_from_slice(&scratch);
        if gathered.len() >= GATHERED_BYTES {
            bytes += black_box(&gathered).len();
            gathered.clear();
        }
    };
    for flow in flows {
        if let Some(exchange) = flow.exchange().filter(|_| has_transactions) {
            push(Line::Exchange(&exchange));
        }
        push(Line::Flow(&flow.record()));
    }
    bytes + gathered.len()
}

enum Line<'a> {
    Flow(&'a FlowRecord<'a>),
    Exchange(&'a Exchange<'a>),
}

fn eve_lines(flows: &[Flow], has_transactions: bool) -> usize {
    lines(flows, has_transactions, |out, line| match line {
        Line::Flow(flow) => eve::push_records(out, flow, flow.anomalies, eve::Types::default()),
        Line::Exchange(exchange) => drop(eve::push_transaction(out, exchange, eve::Types::default())),
    })
}

fn zeek_lines(flows: &[Flow], has_transactions: bool) -> usize {
    let history = zeek::History::default();
    lines(flows, has_transactions, |out, line| match line {
        Line::Flow(flow) => {
            zeek::push_conn(out, zeek::Form::Tsv, flow, &history);
            zeek::push_weirds(out, zeek::Form::Tsv, flow, flow.anomalies);
        }
        Line::Exchange(exchange) => {
            zeek::push_transaction(out, zeek::Form::Tsv, exchange);
            zeek::push_files(out, zeek::Form::Tsv, exchange);
        }
    })
}

fn messages(flows: &[Flow], layout: ipfix::Layout) -> usize {
    let mut exporter = ipfix::Exporter::new(ipfix::Settings::of_streams(layout));
    let mut bytes = 0;
    for flow in flows {
        let record = flow.record();
        exporter.push(&record, ipfix::export_second(record.last.as_nanos()));
        bytes += exporter.take().iter().map(|message| black_box(message).bytes.len()).sum::<usize>();
    }
    exporter.finish_message();
    bytes + exporter.take().iter().map(|message| message.bytes.len()).sum::<usize>()
}

#[cfg(feature = "parquet")]
mod tables {
    use std::hint::black_box;

    use tidewire_exports::{
        columns::{Batch, Ipc, IpcForm, Parquet},
        table::{FLOWS, Row, TRANSACTIONS, Table},
    };

    use super::Flow;

    /// Rows of each table that is wanted, in batches that `encode` takes.
    fn rows(flows: &[Flow], has_transactions: bool, mut encode: impl FnMut(usize, &mut Batch)) {
        let mut batches = TABLES.map(|table| Batch::new(&table, &[]));
        for flow in flows {
            let (record, exchange) = (flow.record(), flow.exchange().filter(|_| has_transactions));
            let rows = [Some(Row::Flow(&record)), exchange.as_ref().map(Row::Transaction)];
            for (which, row) in rows.into_iter().enumerate() {
                let Some(row) = row else { continue };
                let batch = &mut batches[which];
                row.cells(&mut |cell| batch.cell(cell));
                batch.end_row();
                if batch.is_full() {
                    encode(which, batch);
                }
            }
        }
        batches.iter_mut().enumerate().for_each(|(which, batch)| encode(which, batch));
    }

    const TABLES: [Table; 2] = [FLOWS, TRANSACTIONS];

    pub fn arrow(flows: &[Flow], has_transactions: bool) -> usize {
        let mut encoders = TABLES.map(|table| Ipc::new(IpcForm::File, &Batch::new(&table, &[])).expect("a file"));
        let mut bytes = 0;
        rows(flows, has_transactions, |which, batch| {
            encoders[which].push(batch).expect("rows of the table");
            bytes += black_box(encoders[which].bytes()).len();
            encoders[which].bytes().clear();
        });
        bytes
    }

    pub fn parquet(flows: &[Flow], has_transactions: bool) -> usize {
        let mut encoders = TABLES.map(|table| Parquet::new(&table, &Batch::new(&table, &[])).expect("a file"));
        let mut bytes = 0;
        rows(flows, has_transactions, |which, batch| encoders[which].push(batch).expect("rows of the table"));
        for encoder in &mut encoders {
            encoder.finish().expect("rows of the table");
            bytes += black_box(encoder.bytes()).len();
        }
        bytes
    }
}

#[cfg(feature = "parquet")]
const COLUMNS: [(&str, Encode, bool); 2] = [("Parquet", tables::parquet, true), ("Arrow", tables::arrow, true)];
#[cfg(not(feature = "parquet"))]
const COLUMNS: [(&str, Encode, bool); 0] = [];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("FLOWS and RUNS are numbers"));
    let (count, runs) = (arguments.next().unwrap_or(100_000), arguments.next().unwrap_or(5));
    let flows: Vec<Flow> = (0..count).map(Flow::new).collect();
    let encoders: [(&str, Encode, bool); 4] = [
        ("EVE", eve_lines, true),
        ("Zeek, TSV", zeek_lines, true),
        ("IPFIX", |flows, _| messages(flows, ipfix::Layout::Biflow), false),
        ("IPFIX, two records a stream", |flows, _| messages(flows, ipfix::Layout::Uniflow), false),
    ];
    println!(
        "| encoder | streams/s | bytes a stream | with transactions, streams/s | bytes a stream |\n|---|---|---|---|---|"
    );
    for (name, encode, has_transactions) in encoders.into_iter().chain(COLUMNS) {
        let columns = [false, true].map(|with| {
            if with && !has_transactions {
                return "– | –".to_owned();
            }
            let run = || {
                let begun = Instant::now();
                let bytes = encode(black_box(&flows), with);
                (begun.elapsed().as_secs_f64(), bytes)
            };
            let best = (0..runs.max(1)).map(|_| run()).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
            let bytes = best.1 as f64 / flows.len().max(1) as f64;
            format!("{:.2} million | {bytes:.0}", flows.len() as f64 / best.0 / 1e6)
        });
        println!("| {name} | {} |", columns.join(" | "));
    }
}
