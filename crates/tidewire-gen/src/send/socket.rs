//! Sends through packet sockets, one for each end: many frames per system call, bypassing the queueing discipline.

use std::{io, time::Duration};

use crate::Error;
use tidewire_live::{Interface, sys::transmit::Transmitter};

use super::{
    plan::RunEnd,
    work::{Work, write_number},
};
use crate::{
    rate::{Pacer, TIME_SHIFT},
    traffic::{Made, Traffic},
};

/// Frames generated ahead.
const FRAMES: usize = 64;

/// Shorter waits are busy waits: a sleep takes 50 microseconds longer than requested.
const NAP_NS: u64 = 100_000;

pub(super) fn send(traffic: &mut dyn Traffic, links: &[Interface], work: &mut Work<'_>) -> Result<RunEnd, Error> {
    let sockets = links.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let burst_ns = work.burst_ns();
    let mut pacer = Pacer::new(work.plan.rate, burst_ns << TIME_SHIFT);
    let mut queue = Queue::new(traffic.bytes_max());
    let packets_max = work.packets_max();
    let timed = work.plan.rate == crate::Rate::Timed;
    let mut number = 0;
    work.account.start();
    loop {
        let ended = work.check();
        if ended.is_none() {
            queue.fill(traffic, &mut number, packets_max, timed);
        }
        let (None, false) = (ended, queue.is_empty()) else {
            work.account.late = pacer.late;
            return Ok(ended.unwrap_or(RunEnd::Done));
        };
        let due = queue.due(&mut pacer, work);
        if due == 0 {
            let wait = pacer.wait_ns(elapsed_ns(work), queue.first().and_then(|made| made.due_ns));
            if wait > NAP_NS {
                std::thread::sleep(Duration::from_nanos(wait - NAP_NS / 2).min(work.patience()));
            } else {
                std::hint::spin_loop();
            }
            continue;
        }
        queue.send(due, &sockets, work, links)?;
    }
}

fn elapsed_ns(work: &Work<'_>) -> u64 {
    u64::try_from(work.account.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn open(link: &Interface) -> Result<Transmitter, Error> {
    Transmitter::open(link.index).map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => Error::privilege(format!("sending on {}", link.name), "cap_net_raw"),
        _ => Error::System { what: format!("{}: a packet socket", link.name), source, hint: String::new() },
    })
}

/// Frames generated and not sent yet.
struct Queue {
    memory: Vec<u8>,
    each: usize,
    made: Vec<Made>,
    /// How many of them were sent.
    done: usize,
}

impl Queue {
    fn new(bytes_max: usize) -> Self {
        let each = bytes_max.max(64);
        Self { memory: vec![0; each * FRAMES], each, made: Vec::with_capacity(FRAMES), done: 0 }
    }

    fn is_empty(&self) -> bool {
        self.done == self.made.len()
    }

    fn first(&self) -> Option<&Made> {
        self.made.get(self.done)
    }

    /// Generates frames if none are left.
    fn fill(&mut self, traffic: &mut dyn Traffic, number: &mut u64, packets_max: u64, timed: bool) {
        if !self.is_empty() {
            return;
        }
        self.made.clear();
        self.done = 0;
        for frame in self.memory.chunks_exact_mut(self.each) {
            if *number >= packets_max {
                return;
            }
            let Some(mut made) = traffic.next(*number, frame) else { return };
            made.due_ns = made.due_ns.filter(|_| timed);
            if traffic.numbered() {
                write_number(frame, made.bytes, *number);
            }
            self.made.push(made);
            *number += 1;
        }
    }

    /// How many of the next frames are due and go to the same end.
    fn due(&self, pacer: &mut Pacer, work: &Work<'_>) -> usize {
        let now = elapsed_ns(work);
        let rest = self.made.get(self.done..).unwrap_or_default();
        let end = rest.first().map_or(0, |made| made.end);
        let mut count = 0;
        for made in rest {
            if made.end != end || pacer.wait_ns(now, made.due_ns) > 0 {
                break;
            }
            pacer.sent(made.bytes);
            count += 1;
        }
        count
    }

    /// Sends the next `count` frames to one end, with as many calls as necessary.
    fn send(
        &mut self,
        count: usize,
        to: &[Transmitter],
        work: &mut Work<'_>,
        links: &[Interface],
    ) -> Result<(), Error> {
        let until = self.done + count;
        // Does not wait for room when the run is to stop.
        let stopped = |work: &Work<'_>| work.stop.load(std::sync::atomic::Ordering::Relaxed);
        while let Some(rest) = self.made.get(self.done..until).filter(|rest| !rest.is_empty()) {
            let end = rest.first().map_or(0, |made| made.end);
            let index = end.min(to.len() - 1);
            let (Some(socket), Some(link)) = (to.get(index), links.get(index)) else { return Ok(()) };
            let places = self.memory.chunks_exact(self.each).skip(self.done);
            let frames: Vec<&[u8]> =
                places.zip(rest).map(|(frame, made)| frame.get(..made.bytes).unwrap_or(frame)).collect();
            let sent = match socket.send(&frames) {
                Ok(sent) => sent,
                Err(error) => {
                    refused(error, link, work)?;
                    if stopped(work) {
                        self.done = self.made.len();
                    }
                    continue;
                }
            };
            for made in rest.iter().take(sent) {
                if let Some(packets) = work.account.packets.get_mut(end) {
                    *packets += 1;
                }
                work.account.cable_bytes += made.bytes as u64 + crate::rate::CABLE_BYTES;
            }
            self.done += sent;
            work.account.last = work.account.elapsed();
        }
        Ok(())
    }
}

/// There was no room for a frame: retries it, unless the run is to stop.
fn refused(error: io::Error, link: &Interface, work: &mut Work<'_>) -> Result<(), Error> {
    /// `ENOBUFS`, `EAGAIN`, `EINTR`
    const AGAIN: [i32; 3] = [105, 11, 4];
    /// `ENETDOWN`, `ENXIO`, `ENODEV`
    const GONE: [i32; 3] = [100, 6, 19];
    let code = error.raw_os_error().unwrap_or(0);
    if AGAIN.contains(&code) {
        work.account.refused += 1;
        std::thread::yield_now();
        return Ok(());
    }
    let interface = link.name.clone();
    if GONE.contains(&code) {
        let what = format!("went down or away after {} frames", work.account.packets.iter().sum::<u64>());
        return Err(Error::Interface { interface, what });
    }
    Err(Error::System { what: format!("{interface}: sending"), source: error, hint: String::new() })
}
