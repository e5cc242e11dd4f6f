//! The part of libnids (package `libnids-dev`, version 1.26) that the peer needs. See nids.h.

use std::{
    ffi::{CString, c_char, c_int, c_long, c_short, c_uchar, c_uint, c_ushort, c_void},
    ptr, slice,
};

use pcap::{Active, Capture};

#[repr(C)]
struct HalfStream {
    state: c_char,
    collect: c_char,
    collect_urgent: c_char,
    data: *mut c_char,
    offset: c_int,
    count: c_int,
    count_new: c_int,
    buffer_bytes: c_int,
    memory: c_int,
    urgent_count: c_int,
    acked: c_uint,
    seq: c_uint,
    ack_seq: c_uint,
    first_data_seq: c_uint,
    urgent: c_uchar,
    count_new_urgent: c_uchar,
    urgent_seen: c_uchar,
    urgent_pointer: c_uint,
    window: c_ushort,
    timestamps_on: c_uchar,
    scale_on: c_uchar,
    timestamp: c_uint,
    scale: c_uint,
    list: *mut c_void,
    list_tail: *mut c_void,
}

#[repr(C)]
struct TcpStream {
    ports: [c_ushort; 2],
    addresses: [c_uint; 2],
    state: c_char,
    listeners: *mut c_void,
    client: HalfStream,
    server: HalfStream,
    // More fields follow; libnids allocates the structure.
}

#[repr(C)]
struct Parameters {
    streams: c_int,
    hosts: c_int,
    device: *mut c_char,
    filename: *mut c_char,
    buffer_bytes: c_int,
    device_offset: c_int,
    syslog: unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void),
    syslog_level: c_int,
    scan_hosts: c_int,
    scan_delay: c_int,
    scan_ports: c_int,
    no_memory: *mut c_void,
    ip_filter: *mut c_void,
    pcap_filter: *mut c_char,
    promiscuous: c_int,
    one_loop_less: c_int,
    pcap_timeout_ms: c_int,
    multiproc: c_int,
    queue_limit: c_int,
    tcp_workarounds: c_int,
    pcap: *mut c_void,
    // More fields follow, which keep their defaults.
}

#[repr(C)]
struct ChecksumControl {
    network: c_uint,
    mask: c_uint,
    action: c_uint,
    reserved: c_uint,
}

/// `struct tuple4`, with which `struct tcp_stream` begins as well.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// The sender's and the receiver's.
    pub ports: [u16; 2],
    /// The sender's and the receiver's, in network byte order.
    pub addresses: [u32; 2],
}

const JUST_ESTABLISHED: c_char = 1;
const DATA: c_char = 2;
const CLOSED: c_char = 3;
const DO_NOT_CHECK: c_uint = 1;

#[link(name = "nids")]
unsafe extern "C" {
    static mut nids_params: Parameters;
    fn nids_init() -> c_int;
    fn nids_register_tcp(callback: unsafe extern "C" fn(*mut TcpStream, *mut *mut c_void));
    fn nids_register_udp(callback: unsafe extern "C" fn(*const Endpoints, *mut c_char, c_int, *mut c_void));
    fn nids_register_chksum_ctl(control: *mut ChecksumControl, count: c_int);
    fn nids_run() -> c_int;
    fn nids_pcap_handler(user: *mut c_uchar, header: *const PacketHeader, data: *mut c_uchar);
}

/// `struct pcap_pkthdr` (pcap.h).
#[repr(C)]
struct PacketHeader {
    seconds: c_long,
    microseconds: c_long,
    captured: c_uint,
    wire: c_uint,
}

/// Receives connections and their bytes.
pub trait Sink {
    /// A connection was established; both directions are collected. Returns its number for the other calls.
    fn open(&mut self) -> usize;
    /// The next bytes of a direction (0: from the client, 1: from the server).
    fn data(&mut self, connection: usize, direction: usize, bytes: &[u8]);
    /// The connection ended; `orderly`: by FINs that libnids followed.
    fn close(&mut self, connection: usize, orderly: bool);
    /// A UDP datagram with this much payload.
    fn datagram(&mut self, _ends: &Endpoints, _payload_bytes: usize) {}
}

static mut SINK: Option<Box<dyn Sink>> = None;

unsafe extern "C" fn quiet(_: c_int, _: c_int, _: *mut c_void, _: *mut c_void) {}

unsafe extern "C" fn on_tcp(stream: *mut TcpStream, _: *mut *mut c_void) {
    // SAFETY: libnids calls this on the one thread that runs it, with a stream that lives throughout the call. `SINK`
    // is set before it runs and not accessed elsewhere meanwhile. For the connection's number see `numbers`.
    unsafe {
        let place = &raw mut SINK;
        let Some(sink) = (*place).as_mut() else { return };
        match (*stream).state {
            JUST_ESTABLISHED => {
                (*stream).client.collect = 1;
                (*stream).server.collect = 1;
                let number = sink.open();
                numbers(stream, Some(number));
            }
            DATA => {
                let number = numbers(stream, None);
                // The server's half holds bytes sent by the client.
                for (direction, half) in
                    [&raw const (*stream).server, &raw const (*stream).client].into_iter().enumerate()
                {
                    if (*half).count_new > 0 && !(*half).data.is_null() {
                        let bytes = slice::from_raw_parts((*half).data.cast::<u8>(), (*half).count_new as usize);
                        sink.data(number, direction, bytes);
                    }
                }
            }
            state => sink.close(numbers(stream, None), state == CLOSED),
        }
    }
}

unsafe extern "C" fn on_udp(ends: *const Endpoints, _: *mut c_char, payload_bytes: c_int, _: *mut c_void) {
    // SAFETY: as for `on_tcp`; the endpoints live throughout the call.
    unsafe {
        let place = &raw mut SINK;
        if let (Some(sink), Some(ends)) = ((*place).as_mut(), ends.as_ref()) {
            sink.datagram(ends, usize::try_from(payload_bytes).unwrap_or(0));
        }
    }
}

/// The connection's number is in `user`, libnids' field for the application, behind the fields that `TcpStream` declares:
/// next_node, prev_node, hash_index (padded), next_time, prev_time, read (padded), next_free, user.
unsafe fn numbers(stream: *mut TcpStream, set: Option<usize>) -> usize {
    // SAFETY: the layout of libnids 1.26's struct tcp_stream on 64-bit machines, all fields pointer-aligned.
    unsafe {
        let user = stream.add(1).cast::<usize>().add(7);
        if let Some(number) = set {
            *user = number;
        }
        *user
    }
}

/// The source of packets.
pub enum Input<'a> {
    /// A capture file.
    File(&'a str),
    /// A running capture, which stays open when its loop is broken.
    Live(&'a Capture<Active>),
}

/// Prepares libnids for Ethernet frames that [`feed`] hands over. Call it once, and not with [`run`].
///
/// # Errors
/// libnids refuses.
pub fn begin(streams: i32, checksums: bool, sink: Box<dyn Sink>) -> Result<(), String> {
    let dead = Capture::dead(pcap::Linktype::ETHERNET).map_err(|error| error.to_string())?;
    prepare(streams, checksums, sink, |parameters| parameters.pcap = dead.as_ptr().cast())?;
    // libnids keeps the handle.
    std::mem::forget(dead);
    Ok(())
}

/// Hands over one frame, at this time in microseconds.
pub fn feed(frame: &mut [u8], time_us: u64) {
    let bytes = c_uint::try_from(frame.len()).unwrap_or(0);
    let header = PacketHeader {
        seconds: (time_us / 1_000_000).cast_signed(),
        microseconds: (time_us % 1_000_000).cast_signed(),
        captured: bytes,
        wire: bytes,
    };
    // SAFETY: single-threaded, after `begin`; header and frame live throughout the call, and the frame is as long as stated.
    unsafe { nids_pcap_handler(ptr::null_mut(), &raw const header, frame.as_mut_ptr()) }
}

/// Sets the parameters and registers the callbacks.
fn prepare(
    streams: i32,
    checksums: bool,
    sink: Box<dyn Sink>,
    set: impl FnOnce(&mut Parameters),
) -> Result<(), String> {
    let mut control = ChecksumControl { network: 0, mask: 0, action: DO_NOT_CHECK, reserved: 0 };
    // SAFETY: single-threaded; libnids copies the control records.
    unsafe {
        SINK = Some(sink);
        let parameters = &raw mut nids_params;
        set(&mut *parameters);
        nids_params.syslog = quiet;
        nids_params.scan_hosts = 0;
        nids_params.streams = streams;
        if !checksums {
            nids_register_chksum_ctl(&raw mut control, 1);
        }
        if nids_init() == 0 {
            return Err("libnids refuses the input".into());
        }
        nids_register_tcp(on_tcp);
        nids_register_udp(on_udp);
    }
    Ok(())
}

/// Runs libnids until its input ends, or a live capture's loop is broken. Call it once.
///
/// # Errors
/// libnids refuses the input.
pub fn run(input: &Input<'_>, streams: i32, checksums: bool, sink: Box<dyn Sink>) -> Result<(), String> {
    let file = match input {
        Input::File(name) => Some(CString::new(*name).map_err(|_| "a file name holds no zero byte")?),
        Input::Live(_) => None,
    };
    prepare(streams, checksums, sink, |parameters| {
        if let Some(file) = &file {
            parameters.filename = file.as_ptr().cast_mut();
        }
        if let Input::Live(capture) = input {
            parameters.pcap = capture.as_ptr().cast();
        }
    })?;
    // SAFETY: single-threaded; the file's name lives until libnids is done.
    unsafe {
        nids_run();
    }
    Ok(())
}

/// Returns the sink.
#[must_use]
pub fn sink() -> Option<Box<dyn Sink>> {
    // SAFETY: single-threaded, and libnids is not running.
    unsafe { ptr::replace(&raw mut SINK, None) }
}

const _: () = assert!(size_of::<c_short>() == 2 && size_of::<c_long>() == 8, "a 64-bit machine");
