//! Reading: pcap_dispatch(3PCAP), pcap_loop(3PCAP), pcap_next_ex(3PCAP).
//!
//! JUSTIFICATION: see [`super`].
//!
//! A `Worker` gathers frames in place; the program's callback gets addresses in the ring. A batch is released after its
//! delivery or, for `pcap_next`, when the next packet is requested. No borrow is held while a callback runs, because it
//! may set a filter, break the loop or close the handle.

use std::{ffi::c_int, ptr};

use libc::timeval;

use super::{Live, Packet, Reader, batch::Waited, locality::UNSORTED_FRAMES};
use crate::{
    control::{Control, ReadResult},
    types::{PacketHandler, PacketHeader, status},
};

/// Packets of one `pcap_dispatch` without a count: "a buffer's worth" (pcap_dispatch(3PCAP)), from a ring that fills as fast as
/// it is read.
const DISPATCH_PACKETS: usize = 65_536;

/// The amount that a read delivers.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Most packets.
    most: usize,
    /// Whether to continue until that number; else deliver what is there.
    all: bool,
}

impl Amount {
    /// Packets at hand, at most `count`; for 0 and less, a buffer's worth.
    pub fn dispatch(count: c_int) -> Self {
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        Self { most: count.unwrap_or(DISPATCH_PACKETS), all: false }
    }

    /// Exactly `count`; for 0 and less, unlimited.
    pub fn all(count: c_int) -> Self {
        let count = usize::try_from(count).ok().filter(|count| *count > 0);
        Self { most: count.unwrap_or(usize::MAX), all: true }
    }
}

impl Live {
    /// Delivers packets to the program's callback.
    ///
    /// # Safety
    /// No other thread reads. The callback may do with the handle what the manual pages allow, and close it.
    pub unsafe fn read(
        &self,
        handle: &Control,
        amount: Amount,
        callback: Option<PacketHandler>,
        user: *mut u8,
    ) -> ReadResult {
        let Some(callback) = callback else { return ReadResult::open(handle.failed("no callback was given")) };
        if !handle.begin_read() {
            let why = "the handle is being read already: a callback must not read from it";
            return ReadResult::open(handle.failed(why));
        }
        let result = self.read_on(handle, amount, callback, user);
        ReadResult { result, is_closed: handle.end_read() }
    }

    fn read_on(&self, handle: &Control, amount: Amount, callback: PacketHandler, user: *mut u8) -> c_int {
        let mut done = 0;
        loop {
            if handle.is_stopped() {
                handle.take_break();
                return status::BREAK;
            }
            done += self.deliver(handle, amount.most - done, callback, user);
            if handle.is_stopped() {
                continue;
            }
            self.finish();
            if done >= amount.most {
                return if amount.all { 0 } else { c_int::try_from(done).unwrap_or(c_int::MAX) };
            }
            // A batch that was collected for locality is the buffer's worth; another one would require waiting.
            if done > 0 && !amount.all && self.gathers() {
                return c_int::try_from(done).unwrap_or(c_int::MAX);
            }
            // A read without a count continues while packets are there, without waiting.
            let wait = amount.all || done == 0;
            match self.fill(handle, wait, !amount.all) {
                Waited::Packets | Waited::Stopped => {}
                Waited::Nothing if amount.all => {}
                Waited::Nothing => return c_int::try_from(done).unwrap_or(c_int::MAX),
                Waited::Failed(message) if done > 0 && !amount.all => {
                    // SAFETY: as in `deliver`.
                    unsafe { (*self.reader.get()).trouble = Some(message) };
                    return c_int::try_from(done).unwrap_or(c_int::MAX);
                }
                Waited::Failed(message) => return handle.failed(&message),
            }
        }
    }

    /// Whether packets are collected before delivery.
    fn gathers(&self) -> bool {
        // SAFETY: this thread is the one that reads; no callback runs.
        unsafe { (*self.reader.get()).locality.is_some() }
    }

    /// Delivers from the batch; returns the number of packets.
    fn deliver(&self, handle: &Control, most: usize, callback: PacketHandler, user: *mut u8) -> usize {
        let reader = self.reader.get();
        let mut count = 0;
        while count < most {
            // SAFETY: this thread is the one that reads. What is borrowed is given up before the callback, which may change
            // what is left of the batch (`pcap_setfilter`).
            let Some(packet) = (unsafe { (*reader).next() }) else { break };
            // SAFETY: as above.
            if let Some(following) = unsafe { (*reader).following() } {
                self.prefetch(&following);
            }
            let header = self.header(&packet);
            // SAFETY: header and bytes are valid until the callback returns: the batch is given back later.
            unsafe { callback(user, &raw const header, self.bytes(&packet)) };
            count += 1;
            if handle.is_stopped() {
                break;
            }
        }
        count
    }

    /// `pcap_next`
    ///
    /// # Safety
    /// The header is one, or null; no other thread reads.
    pub unsafe fn next(&self, handle: &Control, header: *mut PacketHeader) -> *const u8 {
        let Ok(packet) = self.one(handle) else { return ptr::null() };
        if !header.is_null() {
            // SAFETY: the caller's.
            unsafe { header.write(self.header(&packet)) };
        }
        self.bytes(&packet)
    }

    /// `pcap_next_ex`
    ///
    /// # Safety
    /// The pointers are to variables; no other thread reads.
    pub unsafe fn next_ex(&self, handle: &Control, header: *mut *mut PacketHeader, bytes: *mut *const u8) -> c_int {
        let packet = match self.one(handle) {
            Ok(packet) => packet,
            Err(status) => return status,
        };
        let reader = self.reader.get();
        // SAFETY: this thread is the one that reads, and the pointers are the caller's. The header stays until the next read.
        unsafe {
            (*reader).header = self.header(&packet);
            *header = &raw mut (*reader).header;
            *bytes = self.bytes(&packet);
        }
        1
    }

    /// The next packet, or the return value of a read without one.
    fn one(&self, handle: &Control) -> Result<Packet, c_int> {
        let reader = self.reader.get();
        loop {
            if handle.take_break() {
                return Err(status::BREAK);
            }
            // SAFETY: this thread is the one that reads.
            if let Some(packet) = unsafe { (*reader).next() } {
                self.mark();
                return Ok(packet);
            }
            // The packet of the last call had to stay valid until now.
            self.finish();
            match self.fill(handle, true, true) {
                Waited::Packets | Waited::Stopped => {}
                Waited::Nothing => return Err(0),
                Waited::Failed(message) => return Err(handle.failed(&message)),
            }
        }
    }

    /// The header of a packet.
    #[inline]
    fn header(&self, packet: &Packet) -> PacketHeader {
        let part = (packet.timestamp_ns % 1_000_000_000) as libc::suseconds_t;
        PacketHeader {
            ts: timeval {
                tv_sec: (packet.timestamp_ns / 1_000_000_000) as libc::time_t,
                tv_usec: if self.settings.nanoseconds { part } else { part / 1000 },
            },
            caplen: packet.captured_bytes,
            len: packet.wire_bytes,
        }
    }

    /// The address of its bytes.
    #[inline]
    pub(super) fn bytes(&self, packet: &Packet) -> *const u8 {
        // A frame of a ring lies inside the rings' memory.
        self.arena.addresses().start.wrapping_add(packet.at as usize)
    }

    #[inline]
    fn prefetch(&self, packet: &Packet) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bytes = self.bytes(packet);
            // SAFETY: an address that is not there is no error.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(bytes.cast());
                _mm_prefetch::<_MM_HINT_T0>(bytes.wrapping_add(64).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = packet;
    }

    /// Releases the batch if it was delivered to its end.
    fn finish(&self) {
        // SAFETY: this thread is the one that reads; no callback runs.
        let reader = unsafe { &mut *self.reader.get() };
        if reader.order.is_done(&reader.packets) && !reader.packets.is_empty() {
            if let Some(locality) = &mut reader.locality {
                locality.delivered(reader.packets.len());
            }
            // On an error, collecting the next batch fails, too, and reports it.
            if let Ok(mut rings) = self.rings() {
                let is_last = reader.packets.len() < UNSORTED_FRAMES;
                rings.count(reader.order.count(&reader.packets) as u64, is_last);
                self.release(&mut rings);
            }
            reader.packets.clear();
            reader.order.restart();
        }
        self.mark();
    }

    /// Updates whether [`Live::selectable`] is readable: while a batch is partly delivered.
    pub(super) fn mark(&self) {
        if self.selectable.get().is_none() {
            return;
        }
        // SAFETY: as in `finish`.
        let reader = unsafe { &*self.reader.get() };
        let is_left = !reader.order.is_done(&reader.packets) || reader.trouble.is_some();
        if self.marked.replace(is_left) == is_left {
            return;
        }
        if is_left {
            self.left.set();
        } else {
            self.left.clear();
        }
    }
}

impl Reader {
    #[inline]
    fn next(&mut self) -> Option<Packet> {
        self.order.next(&self.packets)
    }

    #[inline]
    fn following(&self) -> Option<Packet> {
        self.order.following(&self.packets)
    }
}
