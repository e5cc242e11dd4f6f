//! How fast one thread publishes and another reads: `cargo run --release --example queue_speed -- [BYTES] [RECORDS] [READERS]`.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use tidewire_queue::{Geometry, Next, Publisher, Reader, Record};

fn argument(at: usize, default: usize) -> usize {
    env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> Result<(), tidewire_queue::Error> {
    let (bytes, records, readers) = (argument(1, 1460), argument(2, 5_000_000), argument(3, 1));
    let mut publisher = Publisher::new(Geometry::new(1 << 16, 64 << 20), 1)?;
    let payload = vec![7; bytes];
    let readers: Vec<_> = (0..readers).map(|_| Reader::open(publisher.file(), None)).collect::<Result<_, _>>()?;
    let threads: Vec<_> = readers.into_iter().map(|reader| thread::spawn(move || read(reader))).collect();
    let begun = Instant::now();
    for number in 0..records {
        publisher.publish(&Record { stream: number as u64, ..Record::default() }, &payload)?;
    }
    let took = begun.elapsed();
    publisher.finish();
    let rate = records as f64 / took.as_secs_f64();
    println!("published: {:.2} M records/s, {:.2} GB/s", rate / 1e6, rate * bytes as f64 / 1e9);
    for thread in threads {
        let (read, missed, lost) = thread.join().expect("a reader");
        println!("read {read}, missed {missed}, lost {lost}");
    }
    Ok(())
}

fn read(mut reader: Reader) -> (u64, u64, u64) {
    let (mut read, mut missed, mut lost) = (0, 0, 0);
    let mut out = Vec::new();
    loop {
        out.clear();
        match reader.next_timeout(&mut out, Duration::from_millis(1)).expect("the queue is sound") {
            Next::Record(_) => read += 1,
            Next::Missed(_) => missed += 1,
            Next::Lost { records, .. } => lost += records,
            Next::Empty => {}
            Next::Ended(_) => return (read, missed, lost),
        }
    }
}
