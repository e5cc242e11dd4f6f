//! The little of libnids (package `libnids-dev`, version 1.26) that the peer needs. See nids.h.

use std::{
    ffi::{CString, c_char, c_int, c_long, c_short, c_uchar, c_uint, c_ushort, c_void},
    ptr, slice,
};

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
    // More follows that is not read here; libnids allocates these.
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
    // More follows that keeps its defaults.
}

#[repr(C)]
struct ChecksumControl {
    network: c_uint,
    mask: c_uint,
    action: c_uint,
    reserved: c_uint,
}

const JUST_ESTABLISHED: c_char = 1;
const DATA: c_char = 2;
const DO_NOT_CHECK: c_uint = 1;

#[link(name = "nids")]
unsafe extern "C" {
    static mut nids_params: Parameters;
    fn nids_init() -> c_int;
    fn nids_register_tcp(callback: unsafe extern "C" fn(*mut TcpStream, *mut *mut c_void));
    fn nids_register_chksum_ctl(control: *mut ChecksumControl, count: c_int);
    fn nids_run() -> c_int;
}

/// What is told of the bytes of each direction.
pub trait Sink {
    /// A connection was established; both directions are collected. Returns a number that `data` is given for it.
    fn open(&mut self) -> usize;
    /// The next bytes of a direction (0: from the client, 1: from the server).
    fn data(&mut self, connection: usize, direction: usize, bytes: &[u8]);
    /// The connection ended.
    fn close(&mut self, connection: usize);
}

static mut SINK: Option<Box<dyn Sink>> = None;

unsafe extern "C" fn quiet(_: c_int, _: c_int, _: *mut c_void, _: *mut c_void) {}

unsafe extern "C" fn on_tcp(stream: *mut TcpStream, _: *mut *mut c_void) {
    // SAFETY: libnids calls this on the one thread that runs it, with a stream that lives throughout the call. `SINK`
    // is set before it runs and touched nowhere else meanwhile. The connection's number is kept in `listeners`' stead:
    // see `numbers`.
    unsafe {
        let Some(sink) = (*(&raw mut SINK)).as_mut() else { return };
        match (*stream).state {
            JUST_ESTABLISHED => {
                (*stream).client.collect = 1;
                (*stream).server.collect = 1;
                let number = sink.open();
                numbers(stream, Some(number));
            }
            DATA => {
                let number = numbers(stream, None);
                // What the server's half holds was sent by the client.
                for (direction, half) in
                    [&raw const (*stream).server, &raw const (*stream).client].into_iter().enumerate()
                {
                    if (*half).count_new > 0 && !(*half).data.is_null() {
                        let bytes = slice::from_raw_parts((*half).data.cast::<u8>(), (*half).count_new as usize);
                        sink.data(number, direction, bytes);
                    }
                }
            }
            _ => sink.close(numbers(stream, None)),
        }
    }
}

/// The connection's number lies in `user`, libnids' field for the application, behind what `TcpStream` declares here:
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

/// Runs libnids over a capture file. Call it once.
///
/// # Errors
/// When libnids refuses the file.
pub fn run(file: &str, streams: i32, checksums: bool, sink: Box<dyn Sink>) -> Result<(), String> {
    let file = CString::new(file).map_err(|_| "a file name holds no zero byte")?;
    let mut control = ChecksumControl { network: 0, mask: 0, action: DO_NOT_CHECK, reserved: 0 };
    // SAFETY: single-threaded; the strings and the table live until libnids is done; it copies the control records.
    unsafe {
        SINK = Some(sink);
        nids_params.filename = file.as_ptr().cast_mut();
        nids_params.syslog = quiet;
        nids_params.scan_hosts = 0;
        nids_params.streams = streams;
        if !checksums {
            nids_register_chksum_ctl(&raw mut control, 1);
        }
        if nids_init() == 0 {
            return Err("libnids cannot read the file".into());
        }
        nids_register_tcp(on_tcp);
        nids_run();
    }
    Ok(())
}

/// Takes the sink back.
#[must_use]
pub fn sink() -> Option<Box<dyn Sink>> {
    // SAFETY: single-threaded, and libnids is not running.
    unsafe { ptr::replace(&raw mut SINK, None) }
}

const _: () = assert!(size_of::<c_short>() == 2 && size_of::<c_long>() == 8, "a 64-bit machine");
