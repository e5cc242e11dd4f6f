//! Functions without a live handle: forwarded to the system's library.
//!
//! JUSTIFICATION: exported functions of the C ABI take pointers.

use std::{
    ffi::{c_char, c_int, c_long, c_uint},
    ptr,
};

use libc::FILE;

use crate::types::{BpfInstruction, BpfProgram, Dumper, ERROR_BYTES, Interface, PacketHeader, Pointer};
use crate::{
    error,
    system::{self, system},
};

/// Exports a function that calls the system's function of the same name, with a result for a missing one.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $returned:ty)? = $absent:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the system's library.")]
            ///
            /// # Safety
            /// As its manual page says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returned)? {
                match system().$name {
                    // SAFETY: the caller keeps to the manual page, and the type is that of the function.
                    Some(function) => system::calling(|_| unsafe { function($($argument),*) }),
                    None => $absent,
                }
            }
        )*
    };
}

forward! {
    bpf_dump(program: *const BpfProgram, option: c_int) = ();
    bpf_image(instruction: *const BpfInstruction, number: c_int) -> *mut c_char = ptr::null_mut();
    bpf_validate(instructions: *const BpfInstruction, length: c_int) -> c_int = 0;
    pcap_compile_nopcap(snap: c_int, link: c_int, program: *mut BpfProgram, expression: *const c_char, optimize: c_int, mask: u32) -> c_int = -1;
    pcap_datalink_name_to_val(name: *const c_char) -> c_int = -1;
    pcap_datalink_val_to_description(link: c_int) -> *const c_char = ptr::null();
    pcap_datalink_val_to_description_or_dlt(link: c_int) -> *const c_char = ptr::null();
    pcap_datalink_val_to_name(link: c_int) -> *const c_char = ptr::null();
    pcap_dump_close(dumper: *mut Dumper) = ();
    pcap_dump_file(dumper: *mut Dumper) -> *mut FILE = ptr::null_mut();
    pcap_dump_flush(dumper: *mut Dumper) -> c_int = -1;
    pcap_dump_ftell(dumper: *mut Dumper) -> c_long = -1;
    pcap_dump_ftell64(dumper: *mut Dumper) -> i64 = -1;
    pcap_ether_aton(text: *const c_char) -> *mut u8 = ptr::null_mut();
    pcap_ether_hostton(name: *const c_char) -> *mut u8 = ptr::null_mut();
    pcap_findalldevs(devices: *mut *mut Interface, error: *mut c_char) -> c_int = absent(error);
    pcap_free_datalinks(list: *mut c_int) = ();
    pcap_free_tstamp_types(list: *mut c_int) = ();
    pcap_freealldevs(devices: *mut Interface) = ();
    pcap_freecode(program: *mut BpfProgram) = ();
    pcap_init(options: c_uint, error: *mut c_char) -> c_int = absent(error);
    pcap_lib_version() -> *const c_char = c"Tidewire, without a system's libpcap".as_ptr();
    pcap_lookupdev(error: *mut c_char) -> *mut c_char = { absent(error); ptr::null_mut() };
    pcap_lookupnet(device: *const c_char, address: *mut u32, mask: *mut u32, error: *mut c_char) -> c_int = absent(error);
    pcap_nametoaddr(name: *const c_char) -> *mut *mut u32 = ptr::null_mut();
    pcap_nametoaddrinfo(name: *const c_char) -> *mut libc::addrinfo = ptr::null_mut();
    pcap_nametoeproto(name: *const c_char) -> c_int = -1;
    pcap_nametollc(name: *const c_char) -> c_int = -1;
    pcap_nametonetaddr(name: *const c_char) -> u32 = 0;
    pcap_nametoport(name: *const c_char, port: *mut c_int, protocol: *mut c_int) -> c_int = 0;
    pcap_nametoportrange(name: *const c_char, first: *mut c_int, last: *mut c_int, protocol: *mut c_int) -> c_int = 0;
    pcap_nametoproto(name: *const c_char) -> c_int = -1;
    pcap_next_etherent(file: *mut FILE) -> Pointer = ptr::null_mut();
    pcap_open_dead(link: c_int, snap: c_int) -> *mut crate::types::Pcap = ptr::null_mut();
    pcap_open_dead_with_tstamp_precision(link: c_int, snap: c_int, precision: c_uint) -> *mut crate::types::Pcap = ptr::null_mut();
    pcap_statustostr(status: c_int) -> *const c_char = c"the system's libpcap was not found".as_ptr();
    pcap_strerror(number: c_int) -> *const c_char = c"the system's libpcap was not found".as_ptr();
    pcap_tstamp_type_name_to_val(name: *const c_char) -> c_int = -1;
    pcap_tstamp_type_val_to_description(kind: c_int) -> *const c_char = ptr::null();
    pcap_tstamp_type_val_to_name(kind: c_int) -> *const c_char = ptr::null();
}

/// Exports a function that is called for every packet: jumps straight to the system's.
macro_rules! straight {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $returned:ty)? = $absent:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the system's library, which calls nothing of ours.")]
            ///
            /// # Safety
            /// As its manual page says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returned)? {
                #[cold]
                #[inline(never)]
                unsafe extern "C" fn first($($argument: $type),*) $(-> $returned)? {
                    match system().$name {
                        // SAFETY: the caller keeps to the manual page, and the type is that of the function.
                        Some(function) => unsafe { function($($argument),*) },
                        None => $absent,
                    }
                }
                // Either way a jump.
                // SAFETY: as above.
                unsafe {
                    match system::ready().and_then(|system| system.$name) {
                        Some(function) => function($($argument),*),
                        None => first($($argument),*),
                    }
                }
            }
        )*
    };
}

straight! {
    bpf_filter(program: *const BpfInstruction, bytes: *const u8, wire: c_uint, captured: c_uint) -> c_uint = 0;
    pcap_dump(dumper: *mut u8, header: *const PacketHeader, bytes: *const u8) = ();
    pcap_offline_filter(program: *const BpfProgram, header: *const PacketHeader, bytes: *const u8) -> c_int = 0;
}

/// The error of a call that needs the missing system's library.
fn absent(buffer: *mut c_char) -> c_int {
    // SAFETY: an error buffer has this length, or is null (pcap(3PCAP)).
    unsafe { error::write(buffer, ERROR_BYTES, error::NO_SYSTEM) };
    -1
}
