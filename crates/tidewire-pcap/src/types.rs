//! The structures of pcap.h and pcap/bpf.h.

use std::ffi::{c_uint, c_void};

use libc::timeval;

/// Length of an error buffer (`PCAP_ERRBUF_SIZE`).
pub const ERROR_BYTES: usize = 256;

/// Return values (pcap/pcap.h).
pub mod status {
    /// `PCAP_ERROR`
    pub const ERROR: i32 = -1;
    /// `PCAP_ERROR_BREAK`
    pub const BREAK: i32 = -2;
    /// `PCAP_ERROR_ACTIVATED`
    pub const ACTIVATED: i32 = -4;
    /// `PCAP_ERROR_NO_SUCH_DEVICE`
    pub const NO_SUCH_DEVICE: i32 = -5;
    /// `PCAP_ERROR_PERM_DENIED`
    pub const PERMISSION: i32 = -8;
    /// `PCAP_ERROR_RFMON_NOTSUP`
    pub const NO_MONITOR_MODE: i32 = -6;
    /// `PCAP_ERROR_IFACE_NOT_UP`
    pub const NOT_UP: i32 = -9;
    /// `PCAP_ERROR_PROMISC_PERM_DENIED`
    pub const PROMISCUOUS_PERMISSION: i32 = -11;
}

/// `pcap_t`: its content is known to its maker only.
#[repr(C)]
pub struct Pcap {
    _opaque: [u64; 2],
}

/// `pcap_dumper_t`
#[repr(C)]
pub struct Dumper {
    _opaque: [u8; 0],
}

/// `pcap_if_t`
#[repr(C)]
pub struct Interface {
    _opaque: [u8; 0],
}

/// `struct pcap_pkthdr`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PacketHeader {
    /// Seconds, and micro- or nanoseconds as the handle's precision says.
    pub ts: timeval,
    /// Bytes captured.
    pub caplen: u32,
    /// Bytes on the wire.
    pub len: u32,
}

/// `struct pcap_stat`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Statistics {
    /// Packets that passed the filter, including those dropped because the ring was full.
    pub received: c_uint,
    /// Packets dropped because the ring was full.
    pub dropped: c_uint,
    /// Packets that the interface dropped.
    pub dropped_by_interface: c_uint,
}

/// `struct bpf_insn`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BpfInstruction {
    /// Operation code.
    pub code: u16,
    /// Instructions to skip if a test is true.
    pub jt: u8,
    /// Instructions to skip if it is false.
    pub jf: u8,
    /// Operand.
    pub k: u32,
}

/// `struct bpf_program`
#[repr(C)]
pub struct BpfProgram {
    /// Number of instructions.
    pub length: c_uint,
    /// The first instruction.
    pub instructions: *mut BpfInstruction,
}

/// `pcap_handler`
pub type PacketHandler = unsafe extern "C" fn(*mut u8, *const PacketHeader, *const u8);

/// An untyped pointer.
pub type Pointer = *mut c_void;
