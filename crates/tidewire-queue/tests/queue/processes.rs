//! Readers that are processes of their own: what they read, what they cannot do, and that their deaths disturb no other.

use std::{
    env,
    fs::{File, OpenOptions},
    io::Write as _,
    os::fd::{AsRawFd as _, OwnedFd},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::fs::{SealFlags, fcntl_get_seals};
use tidewire_queue::{Error, Geometry, Next, Publisher, QueueEnd, Reader, Record};
use tidewire_testing::{Ends as _, Signal, signal};

/// Where a child finds the queue: the parent's descriptor.
const QUEUE: &str = "TIDEWIRE_QUEUE_OF_TEST";

/// A descriptor of a queue that stays open when its publisher is gone, as readers may be late.
fn kept(publisher: &Publisher) -> OwnedFd {
    publisher.file().try_clone_to_owned().unwrap()
}

fn place(queue: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), queue.as_raw_fd())
}

/// A child that reads to the end from the beginning and prints what it found (see `child`).
fn reader(queue: &OwnedFd) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::child", "--nocapture", "--test-threads=1"])
        .env(QUEUE, place(queue))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The numbers that a child printed: read, missed, lost, and a sum of what it read.
fn figures(child: Child) -> [u64; 4] {
    let output = child.output_in_time("a reader");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("figures: ").map(|(_, figures)| figures.to_owned()));
    let line = line.unwrap_or_else(|| panic!("no figures: {text}{}", String::from_utf8_lossy(&output.stderr)));
    let mut words = line.split(' ').map(|word| word.parse().unwrap());
    std::array::from_fn(|_| words.next().unwrap())
}

/// No test by itself: the children of the others run it.
#[test]
fn child() {
    let Some(path) = env::var_os(QUEUE) else { return };
    let mut reader = Reader::open(File::open(path).unwrap(), Some(0)).unwrap();
    let (mut read, mut missed, mut lost, mut sum) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut out = Vec::new();
    let ended = loop {
        out.clear();
        match reader.next_timeout(&mut out, Duration::from_millis(1)).unwrap() {
            Next::Record(record) => {
                read += 1;
                assert!(out.iter().all(|byte| *byte == record.sequence as u8), "bytes of another record");
                sum += out.len() as u64;
            }
            Next::Missed(_) => missed += 1,
            Next::Lost { records, .. } => lost += records,
            Next::Empty => {}
            Next::Ended(ended) => break ended,
        }
    };
    assert_eq!((ended, read + missed + lost), (QueueEnd::Finished, reader.published()));
    writeln!(std::io::stdout(), "figures: {read} {missed} {lost} {sum}").unwrap();
}

fn publish(publisher: &mut Publisher, records: u64, pause: impl Fn(u64)) -> u64 {
    let mut sum = 0;
    for _ in 0..records {
        let number = publisher.published();
        let payload = vec![number as u8; (number * 7919 % 1500) as usize];
        sum += payload.len() as u64;
        publisher.publish(&Record { stream: number, ..Record::default() }, &payload).unwrap();
        pause(number);
    }
    sum
}

#[test]
fn every_process_reads_every_record_that_fits() {
    let mut publisher = Publisher::new(Geometry::new(1 << 12, 4 << 20), 1).unwrap();
    let queue = kept(&publisher);
    let children: Vec<Child> = (0..3).map(|_| reader(&queue)).collect();
    let sum = publish(&mut publisher, 4000, |_| ());
    publisher.offer().wake().unwrap();
    let published = publisher.published();
    // Records in the queue stay readable after its end.
    publisher.finish();
    for child in children {
        assert_eq!(figures(child), [published, 0, 0, sum]);
    }
}

/// Readers that are killed at any moment cost the others nothing, and the publisher never waits.
#[test]
fn killed_readers_disturb_no_other() {
    let mut publisher = Publisher::new(Geometry::new(1 << 14, 32 << 20), 1).unwrap();
    let queue = kept(&publisher);
    let survivor = reader(&queue);
    let mut killed = Vec::new();
    let mut sum = 0;
    for round in 0..40_u64 {
        killed.push(reader(&queue));
        sum += publish(&mut publisher, 200, |number| {
            if number % 50 == 0 {
                thread::sleep(Duration::from_micros(300));
            }
        });
        publisher.offer().wake().unwrap();
        if round % 2 == 1 {
            for mut child in killed.drain(..) {
                signal(&child, Signal::KILL);
                child.wait_in_time("a killed reader");
            }
        }
    }
    let published = publisher.published();
    publisher.finish();
    assert_eq!(figures(survivor), [published, 0, 0, sum]);
}

#[test]
fn readers_cannot_write() {
    let publisher = Publisher::new(Geometry::new(16, 1 << 16), 1).unwrap();
    let seals = fcntl_get_seals(publisher.file()).unwrap();
    let wanted = SealFlags::FUTURE_WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    assert!(seals.contains(wanted), "{seals:?}");
    let mut file = OpenOptions::new().read(true).write(true).open(place(&kept(&publisher))).unwrap();
    assert!(file.write_all(b"x").is_err(), "it can be written");
    assert!(file.set_len(0).is_err(), "it can be shortened");
    assert!(Reader::open(&file, None).is_ok(), "it can be read by a descriptor for writing");
}

#[test]
fn what_is_no_queue_is_refused() {
    let file = tempfile_without_seals();
    assert!(matches!(Reader::open(&file, None), Err(Error::NotAQueue(_))));
    assert!(matches!(Reader::open(File::open("/dev/null").unwrap(), None), Err(Error::NotAQueue(_))));
}

fn tempfile_without_seals() -> File {
    let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    let file = File::from(file);
    file.set_len(1 << 20).unwrap();
    file
}

/// A publisher that is dropped without finishing says so.
#[test]
fn an_aborted_queue_ends() {
    let mut publisher = Publisher::new(Geometry::new(16, 1 << 16), 3).unwrap();
    let mut reader = Reader::open(publisher.file(), None).unwrap();
    publisher.publish(&Record::default(), b"last").unwrap();
    drop(publisher);
    let mut out = Vec::new();
    assert!(matches!(reader.next(&mut out).unwrap(), Next::Record(_)));
    assert_eq!(out, b"last");
    assert_eq!(reader.next(&mut out).unwrap(), Next::Ended(QueueEnd::Aborted));
    assert_eq!(reader.epoch(), 3);
}
