//! Finished streams in an async program: a thread reads, and a bounded channel takes the streams to a task of tokio.
//!
//! `cargo run -p tidewire --example async_streams -- capture.pcap`

use std::path::PathBuf;

use tidewire::{Capture, Direction, Error, FinishedStream, Ledger};
use tokio::{sync::mpsc, task};

/// Streams that wait for the task, at most. A full channel slows the reader down.
const WAITING_MAX: usize = 64;

/// Reads a file on a thread for blocking work, until its end or until the receiver is dropped.
fn read(path: PathBuf) -> (mpsc::Receiver<FinishedStream>, task::JoinHandle<Result<Ledger, Error>>) {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let reader = task::spawn_blocking(move || {
        let mut streams = Capture::file(path).streams()?;
        for stream in &mut streams {
            if sender.blocking_send(stream).is_err() {
                break;
            }
        }
        Ok(streams.finish().ledger)
    });
    (receiver, reader)
}

/// Counts the streams of a file and the bytes that servers sent.
async fn count(path: PathBuf) -> Result<(u64, usize, Ledger), Error> {
    let (mut receiver, reader) = read(path);
    let (mut count, mut bytes) = (0, 0);
    while let Some(stream) = receiver.recv().await {
        count += 1;
        bytes += stream.bytes(Direction::ServerToClient).len();
    }
    let ledger = reader.await.map_err(|error| Error::Worker { index: 0, message: error.to_string() })??;
    Ok((count, bytes, ledger))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: async_streams FILE")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (streams, bytes, ledger) = runtime.block_on(count(path.into()))?;
    println!("{streams} streams, {bytes} bytes of servers, {} packets", ledger.received);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_reach_a_task_and_every_packet_is_counted() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hello/hello.pcap");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (streams, bytes, ledger) = runtime.block_on(count(path.into())).unwrap();
        assert_eq!((streams, bytes, ledger.received, ledger.closes()), (1, 8, 8, true));
    }

    #[test]
    fn a_receiver_that_is_dropped_ends_the_reader() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/hello/hello.pcap");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ledger = runtime.block_on(async {
            let (receiver, reader) = read(path.into());
            drop(receiver);
            reader.await.unwrap().unwrap()
        });
        assert!(ledger.closes());
    }
}
