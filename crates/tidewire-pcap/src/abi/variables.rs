//! The variables that the system's library exports, with their contents.
//!
//! JUSTIFICATION: programs linked before pcap_lib_version(3PCAP) read them as they are, from the first instruction on: they
//! are filled by a constructor.

use std::{cell::UnsafeCell, ffi::CStr, ptr};

use crate::system::{self, System};

/// A variable of the ABI, of the same length as the system's: the loader copies it into programs.
#[repr(C, align(16))]
pub struct Variable<const BYTES: usize>(UnsafeCell<[u8; BYTES]>);

// SAFETY: written once, before `main` and by the thread that loads us.
unsafe impl<const BYTES: usize> Sync for Variable<BYTES> {}

/// `pcap_version`: the version's text.
#[unsafe(export_name = "pcap_version")]
pub static PCAP_VERSION: Variable<7> = Variable(UnsafeCell::new([0; 7]));

/// `eproto_db`: names of Ethernet's types, thirteen entries of 16 bytes.
#[unsafe(export_name = "eproto_db")]
pub static EPROTO_DB: Variable<208> = Variable(UnsafeCell::new([0; 208]));

#[used]
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;

/// Notes how the program was started. Copies the variables if the system's library is loaded, or must be loaded because the
/// program has no other one.
extern "C" fn fill() {
    system::note_start();
    let system = if system::is_in_its_place() { Some(system::system()) } else { system::loaded() };
    let Some(system) = system else { return };
    copy(system, c"pcap_version", &PCAP_VERSION);
    copy(system, c"eproto_db", &EPROTO_DB);
}

fn copy<const BYTES: usize>(system: &System, name: &CStr, to: &Variable<BYTES>) {
    let from = system.variable(name);
    if !from.is_null() && !ptr::eq(from, to.0.get().cast()) {
        // SAFETY: the system's variable has this length: where it has not, the loader says so to every program that uses it.
        // No reader exists yet.
        unsafe { ptr::copy(from, to.0.get().cast::<u8>(), BYTES) };
    }
}
