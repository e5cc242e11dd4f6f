//! Typed transactions: by iterator, by closure, by handlers of several workers; their memory; several applications.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire::{
    Application, Applications, Capture, Chunk, Direction, EndReason, Handler, SettingError, Stop, Stream,
    protocols::{
        Conversation, Fields, HasConversation, Service, StreamTransaction, Transaction, TransactionHandler,
        WithTransactions,
    },
};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus")
}

fn demo() -> PathBuf {
    corpus().join("demo/demo.pcap")
}

/// The project's own captures.
fn captures() -> Vec<PathBuf> {
    let folders = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| ["capture.pcap", "capture.pcapng"].map(|name| folder.join(name)));
    let mut found: Vec<_> = files.filter(|path| path.is_file()).collect();
    found.sort();
    assert!(found.len() > 60, "{} captures", found.len());
    found
}

/// Keeps transactions, and how many bytes there were beside them.
#[derive(Default)]
struct Kept<const BYTES: bool> {
    found: Vec<(u64, Transaction)>,
    bytes: u64,
}

impl<const BYTES: bool> Handler for Kept<BYTES> {
    type Data = (Conversation, u64);

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        stream.data().1 += chunk.fresh().len() as u64;
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, _: EndReason) {
        self.bytes += stream.data().1;
    }
}

impl<const BYTES: bool> TransactionHandler for Kept<BYTES> {
    const BYTES: bool = BYTES;

    fn transaction(&mut self, stream: &mut Stream<'_, Self::Data>, transaction: Transaction) {
        assert!(stream.data().conversation().is_new() || transaction.start.as_nanos() <= transaction.end.as_nanos());
        self.found.push((stream.id(), transaction));
    }
}

fn run<const BYTES: bool>(capture: &Path, workers: usize) -> (Vec<(u64, Transaction)>, u64) {
    let capture = Capture::file(capture).workers(workers);
    let outcome = capture.run_transactions(|_worker| Kept::<BYTES>::default()).unwrap();
    assert!(outcome.ledger.closes());
    let bytes = outcome.handlers.iter().map(|worker| worker.inner.bytes).sum();
    let mut found: Vec<_> = outcome.handlers.into_iter().flat_map(|worker| worker.inner.found).collect();
    // Those of a stream stay in order.
    found.sort_by_key(|(stream, _)| *stream);
    (found, bytes)
}

fn sorted(found: impl IntoIterator<Item = StreamTransaction>) -> Vec<(u64, Transaction)> {
    let mut found: Vec<_> = found.into_iter().map(|one| (one.stream(), one.into_transaction())).collect();
    found.sort_by_key(|(stream, _)| *stream);
    found
}

#[test]
fn hosts_of_http_are_printed_in_five_lines() {
    let mut hosts = Vec::new();
    for transaction in Capture::file(demo()).transactions().unwrap() {
        if let Fields::Http(http) = transaction.fields() {
            hosts.push(http.host.as_deref().unwrap_or("-").to_owned());
        }
    }
    let web = "198.51.100.80";
    assert_eq!(hosts, [web, web, web, "[2001:db8:2::80]", "gauge.tidewire.example"]);
}

#[test]
fn a_transaction_has_its_stream_and_times() {
    let first = Capture::file(demo()).transactions().unwrap().next().unwrap();
    assert_eq!((first.stream(), first.service(), first.name()), (2, Service::Dns, Some("www.tidewire.example")));
    assert_eq!(
        (first.start().as_nanos(), first.end().as_nanos()),
        (1_795_233_648_821_884_000, 1_795_233_648_822_156_000)
    );
    assert_eq!(first.key().to_string(), "udp 192.0.2.10:36426 > 198.51.100.80:53");
    assert_eq!(first.transaction().name(), first.name());
}

#[test]
fn iterator_closure_and_workers_give_the_same() {
    let mut services = std::collections::BTreeSet::new();
    for capture in captures() {
        let mut iterator = Capture::file(&capture).transactions().unwrap();
        let iterated = sorted(&mut iterator);
        let outcome = iterator.finish();
        assert!(outcome.ledger.closes() && !outcome.interrupted);
        assert_eq!(outcome.handler().refused(), 0);
        let mut called = Vec::new();
        let _ = Capture::file(&capture).for_each_transaction(|one| called.push(one)).unwrap();
        assert_eq!(sorted(called), iterated, "{}", capture.display());
        assert_eq!(run::<false>(&capture, 3).0, iterated, "{}", capture.display());
        assert_eq!(run::<true>(&capture, 2).0, iterated, "{}", capture.display());
        services.extend(iterated.iter().map(|(_, transaction)| transaction.service));
    }
    // Those of the features that this build has.
    assert!(services.len() >= 8, "{services:?}");
}

#[test]
fn bytes_are_discarded_where_they_are_not_wanted() {
    let ((_, all), (_, read)) = (run::<true>(&demo(), 1), run::<false>(&demo(), 1));
    let mut exact = 0;
    let _ = Capture::file(demo()).on_data(|_, chunk| exact += chunk.fresh().len() as u64).run().unwrap();
    assert_eq!(all, exact);
    assert!(read < all, "{read} of {all} bytes");
}

#[test]
fn streams_whose_fields_find_no_memory_are_counted() {
    let head = |host: usize| format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n", "x".repeat(900));
    let mut reader = tidewire::protocols::ProtocolReader::new(1 << 20);
    struct Fill<'a>(&'a mut tidewire::protocols::ProtocolReader, usize, &'a dyn Fn(usize) -> String);
    impl Handler for Fill<'_> {
        type Data = Conversation;
        fn data(&mut self, stream: &mut Stream<'_, Conversation>, _: Chunk<'_>) {
            self.1 += 1;
            let text = (self.2)(self.1);
            let chunk = Chunk::new(Direction::ClientToServer, 0, text.as_bytes());
            self.0.data(stream, &chunk, &mut tidewire::protocols::Report::First);
        }
    }
    let capture = hello_many(3000);
    let handler = Fill(&mut reader, 0, &head);
    let outcome = Capture::reader(std::io::Cursor::new(capture)).checksum(tidewire::ChecksumMode::Ignore);
    let _ = outcome.mode(tidewire::Mode::Strict).run_with(handler).unwrap();
    assert!(reader.refused() > 0);
    assert_eq!(tidewire::protocols::ProtocolReader::part_of(1 << 20), (1 << 20) / 8 * 3);
}

/// The conversation `copies` times, on ports that differ.
fn hello_many(copies: u16) -> Vec<u8> {
    const HELLO: &[u8] = include_bytes!("corpus/hello/hello.pcap");
    let mut capture = HELLO[..24].to_vec();
    for copy in 0..copies {
        let mut at = 24;
        while at < HELLO.len() {
            let length = u32::from_le_bytes(HELLO[at + 8..at + 12].try_into().unwrap()) as usize;
            let mut record = HELLO[at..at + 16 + length].to_vec();
            for port in [16 + 14 + 20, 16 + 14 + 22] {
                let number = u16::from_be_bytes([record[port], record[port + 1]]);
                if number == 40_000 {
                    record[port..port + 2].copy_from_slice(&(number + copy).to_be_bytes());
                }
            }
            capture.extend_from_slice(&record);
            at += 16 + length;
        }
    }
    capture
}

#[test]
fn an_application_gets_transactions_beside_others() {
    let mut applications = Applications::new();
    let fields = applications
        .add(Application::new(WithTransactions::new(Kept::<true>::default(), 1 << 20)).name("fields"))
        .unwrap();
    let other = applications.add(Application::new(Kept::<true>::default()).name("other")).unwrap();
    let outcome = Capture::file(demo()).run_with(applications).unwrap();
    let applications = outcome.into_handler();
    let found = &applications.get(fields).inner.found;
    assert_eq!(found.len(), Capture::file(demo()).transactions().unwrap().count());
    assert!(applications.get(other).found.is_empty());
}

#[test]
fn the_iterator_ends_where_it_is_stopped() {
    let mut iterator = Capture::file(demo()).transactions().unwrap();
    assert!(iterator.next().is_some());
    assert!(format!("{iterator:?}").contains("has_ended: false"));
    let stop = Stop::new();
    stop.stop();
    let stopped = Capture::file(demo()).stop_when(&stop).transactions().unwrap();
    assert!(stopped.finish().interrupted);
    let error = Capture::file(demo()).workers(2).transactions().unwrap_err();
    assert!(matches!(error, tidewire::Error::Setting(SettingError::OneWorker { given: 2 })), "{error}");
}
