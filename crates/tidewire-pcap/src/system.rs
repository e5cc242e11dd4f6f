//! The system's libpcap.
//!
//! JUSTIFICATION: a library that replaces another one finds it at run time, by `dlopen(3)`.
//!
//! With LD_PRELOAD the system's library may be loaded already, because the program is linked with it. Its own calls of exported
//! functions then arrive here and must return to it unchanged: see [`calling`] and [`is_inside`].

use std::{
    cell::Cell,
    ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_uint, c_void},
    mem,
    os::unix::ffi::OsStrExt,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use libc::{FILE, timeval};

use crate::{
    resolve,
    types::{BpfInstruction, BpfProgram, Dumper, Interface, PacketHandler, PacketHeader, Pcap, Statistics},
};

/// Directories to search if the dynamic loader finds only this library: those of Debian, then those of others.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
    "/usr/local/lib",
];

/// Debian's name, then upstream's.
const NAMES: &[&CStr] = &[c"libpcap.so.0.8", c"libpcap.so.1"];

/// The variable that names the library.
const VARIABLE: &str = "TIDEWIRE_LIBPCAP";

macro_rules! functions {
    ($($name:ident: fn($($type:ty),*) $(-> $returned:ty)?;)*) => {
        /// Functions of the system's library; `None` if it is older than a function.
        #[derive(Default)]
        pub struct System {
            /// `dlopen`'s handle.
            library: Option<Library>,
            $(#[doc = concat!("`", stringify!($name), "`")] pub $name: Option<unsafe extern "C" fn($($type),*) $(-> $returned)?>,)*
        }

        impl System {
            fn of(library: Library) -> Self {
                Self {
                    $($name: {
                        let address = library.find(concat!(stringify!($name), "\0"));
                        // SAFETY: the address is that of the function of this name, whose type is what pcap.h says; null
                        // becomes none.
                        unsafe { mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($type),*) $(-> $returned)?>>(address) }
                    },)*
                    library: Some(library),
                }
            }
        }
    };
}

functions! {
    bpf_dump: fn(*const BpfProgram, c_int);
    bpf_filter: fn(*const BpfInstruction, *const u8, c_uint, c_uint) -> c_uint;
    bpf_image: fn(*const BpfInstruction, c_int) -> *mut c_char;
    bpf_validate: fn(*const BpfInstruction, c_int) -> c_int;
    pcap_activate: fn(*mut Pcap) -> c_int;
    pcap_breakloop: fn(*mut Pcap);
    pcap_bufsize: fn(*mut Pcap) -> c_int;
    pcap_can_set_rfmon: fn(*mut Pcap) -> c_int;
    pcap_close: fn(*mut Pcap);
    pcap_compile: fn(*mut Pcap, *mut BpfProgram, *const c_char, c_int, u32) -> c_int;
    pcap_compile_nopcap: fn(c_int, c_int, *mut BpfProgram, *const c_char, c_int, u32) -> c_int;
    pcap_create: fn(*const c_char, *mut c_char) -> *mut Pcap;
    pcap_datalink: fn(*mut Pcap) -> c_int;
    pcap_datalink_ext: fn(*mut Pcap) -> c_int;
    pcap_datalink_name_to_val: fn(*const c_char) -> c_int;
    pcap_datalink_val_to_description: fn(c_int) -> *const c_char;
    pcap_datalink_val_to_description_or_dlt: fn(c_int) -> *const c_char;
    pcap_datalink_val_to_name: fn(c_int) -> *const c_char;
    pcap_dispatch: fn(*mut Pcap, c_int, Option<PacketHandler>, *mut u8) -> c_int;
    pcap_dump: fn(*mut u8, *const PacketHeader, *const u8);
    pcap_dump_close: fn(*mut Dumper);
    pcap_dump_file: fn(*mut Dumper) -> *mut FILE;
    pcap_dump_flush: fn(*mut Dumper) -> c_int;
    pcap_dump_fopen: fn(*mut Pcap, *mut FILE) -> *mut Dumper;
    pcap_dump_ftell: fn(*mut Dumper) -> c_long;
    pcap_dump_ftell64: fn(*mut Dumper) -> i64;
    pcap_dump_open: fn(*mut Pcap, *const c_char) -> *mut Dumper;
    pcap_dump_open_append: fn(*mut Pcap, *const c_char) -> *mut Dumper;
    pcap_ether_aton: fn(*const c_char) -> *mut u8;
    pcap_ether_hostton: fn(*const c_char) -> *mut u8;
    pcap_file: fn(*mut Pcap) -> *mut FILE;
    pcap_fileno: fn(*mut Pcap) -> c_int;
    pcap_findalldevs: fn(*mut *mut Interface, *mut c_char) -> c_int;
    pcap_fopen_offline: fn(*mut FILE, *mut c_char) -> *mut Pcap;
    pcap_fopen_offline_with_tstamp_precision: fn(*mut FILE, c_uint, *mut c_char) -> *mut Pcap;
    pcap_free_datalinks: fn(*mut c_int);
    pcap_free_tstamp_types: fn(*mut c_int);
    pcap_freealldevs: fn(*mut Interface);
    pcap_freecode: fn(*mut BpfProgram);
    pcap_get_required_select_timeout: fn(*mut Pcap) -> *const timeval;
    pcap_get_selectable_fd: fn(*mut Pcap) -> c_int;
    pcap_get_tstamp_precision: fn(*mut Pcap) -> c_int;
    pcap_geterr: fn(*mut Pcap) -> *mut c_char;
    pcap_getnonblock: fn(*mut Pcap, *mut c_char) -> c_int;
    pcap_init: fn(c_uint, *mut c_char) -> c_int;
    pcap_inject: fn(*mut Pcap, *const c_void, usize) -> c_int;
    pcap_is_swapped: fn(*mut Pcap) -> c_int;
    pcap_lib_version: fn() -> *const c_char;
    pcap_list_datalinks: fn(*mut Pcap, *mut *mut c_int) -> c_int;
    pcap_list_tstamp_types: fn(*mut Pcap, *mut *mut c_int) -> c_int;
    pcap_lookupdev: fn(*mut c_char) -> *mut c_char;
    pcap_lookupnet: fn(*const c_char, *mut u32, *mut u32, *mut c_char) -> c_int;
    pcap_loop: fn(*mut Pcap, c_int, Option<PacketHandler>, *mut u8) -> c_int;
    pcap_major_version: fn(*mut Pcap) -> c_int;
    pcap_minor_version: fn(*mut Pcap) -> c_int;
    pcap_nametoaddr: fn(*const c_char) -> *mut *mut u32;
    pcap_nametoaddrinfo: fn(*const c_char) -> *mut libc::addrinfo;
    pcap_nametoeproto: fn(*const c_char) -> c_int;
    pcap_nametollc: fn(*const c_char) -> c_int;
    pcap_nametonetaddr: fn(*const c_char) -> u32;
    pcap_nametoport: fn(*const c_char, *mut c_int, *mut c_int) -> c_int;
    pcap_nametoportrange: fn(*const c_char, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    pcap_nametoproto: fn(*const c_char) -> c_int;
    pcap_next: fn(*mut Pcap, *mut PacketHeader) -> *const u8;
    pcap_next_etherent: fn(*mut FILE) -> *mut c_void;
    pcap_next_ex: fn(*mut Pcap, *mut *mut PacketHeader, *mut *const u8) -> c_int;
    pcap_offline_filter: fn(*const BpfProgram, *const PacketHeader, *const u8) -> c_int;
    pcap_open_dead: fn(c_int, c_int) -> *mut Pcap;
    pcap_open_dead_with_tstamp_precision: fn(c_int, c_int, c_uint) -> *mut Pcap;
    pcap_open_live: fn(*const c_char, c_int, c_int, c_int, *mut c_char) -> *mut Pcap;
    pcap_open_offline: fn(*const c_char, *mut c_char) -> *mut Pcap;
    pcap_open_offline_with_tstamp_precision: fn(*const c_char, c_uint, *mut c_char) -> *mut Pcap;
    pcap_perror: fn(*mut Pcap, *const c_char);
    pcap_sendpacket: fn(*mut Pcap, *const u8, c_int) -> c_int;
    pcap_set_buffer_size: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_datalink: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_immediate_mode: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_promisc: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_protocol_linux: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_rfmon: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_snaplen: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_timeout: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_tstamp_precision: fn(*mut Pcap, c_int) -> c_int;
    pcap_set_tstamp_type: fn(*mut Pcap, c_int) -> c_int;
    pcap_setdirection: fn(*mut Pcap, c_int) -> c_int;
    pcap_setfilter: fn(*mut Pcap, *mut BpfProgram) -> c_int;
    pcap_setnonblock: fn(*mut Pcap, c_int, *mut c_char) -> c_int;
    pcap_snapshot: fn(*mut Pcap) -> c_int;
    pcap_stats: fn(*mut Pcap, *mut Statistics) -> c_int;
    pcap_statustostr: fn(c_int) -> *const c_char;
    pcap_strerror: fn(c_int) -> *const c_char;
    pcap_tstamp_type_name_to_val: fn(*const c_char) -> c_int;
    pcap_tstamp_type_val_to_description: fn(c_int) -> *const c_char;
    pcap_tstamp_type_val_to_name: fn(c_int) -> *const c_char;
}

impl System {
    /// Copies one of its variables, which programs may have read before the first call.
    pub fn variable(&self, name: &CStr) -> *const u8 {
        let name = name.to_str().ok().map(|name| format!("{name}\0"));
        match (&self.library, name) {
            (Some(library), Some(name)) => library.find(&name).cast::<u8>().cast_const(),
            _ => ptr::null(),
        }
    }
}

/// A loaded library; never unloaded, because handles may still use it.
struct Library(*mut c_void);

// SAFETY: a handle of `dlopen` may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// `name` ends with a zero.
    fn find(&self, name: &str) -> *mut c_void {
        debug_assert!(name.ends_with('\0'));
        // SAFETY: the handle is valid, and the name ends with a zero.
        unsafe { libc::dlsym(self.0, name.as_ptr().cast()) }
    }

    /// Loads a library unless it is this one, or not a libpcap.
    fn open(path: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: the path ends with a zero. Libraries' constructors run: libpcap has none.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
        if handle.is_null() {
            return None;
        }
        let library = Self(handle);
        // Neither this library, nor another one like it.
        let is_another = !library.find("pcap_create\0").is_null() && library.find("pcap_fanout\0").is_null();
        is_another.then_some(library)
    }
}

static SYSTEM: OnceLock<System> = OnceLock::new();

/// The system's library; without functions if it is missing.
#[inline]
pub fn system() -> &'static System {
    #[cold]
    #[inline(never)]
    fn first() -> &'static System {
        SYSTEM.get_or_init(|| find().map_or_else(System::default, System::of))
    }
    SYSTEM.get().unwrap_or_else(first)
}

/// The system's library if it was searched for already: for functions that are called for every packet.
#[inline(always)]
pub fn ready() -> Option<&'static System> {
    SYSTEM.get()
}

/// The system's library if it is loaded already.
pub fn loaded() -> Option<&'static System> {
    loaded_library()?;
    Some(system())
}

/// The program started without a libpcap, and one was loaded before the first call of ours.
static CAME_LATER: AtomicBool = AtomicBool::new(false);
/// Whether the program started with a libpcap.
static AT_START: AtomicBool = AtomicBool::new(false);

/// Notes what is loaded; called when this library is loaded.
pub fn note_start() {
    AT_START.store(is_in_its_place() || loaded_library().is_some(), Ordering::Relaxed);
}

/// Whether the program loaded the system's library by name at run time. It may then call its functions directly, with handles
/// of ours that a jump inside that library made us create, which no return address shows.
pub fn came_later() -> bool {
    let _ = system();
    CAME_LATER.load(Ordering::Relaxed)
}

fn find() -> Option<Library> {
    CAME_LATER.store(!AT_START.load(Ordering::Relaxed) && loaded_library().is_some(), Ordering::Relaxed);
    if let Some(named) = resolve::variable(VARIABLE) {
        return Library::open(&CString::new(named.as_bytes()).ok()?, 0);
    }
    loaded_library().or_else(|| NAMES.iter().find_map(|name| Library::open(name, 0))).or_else(|| {
        let paths = FOLDERS.iter().flat_map(|folder| NAMES.iter().map(move |name| (folder, name)));
        let mut paths = paths.filter_map(|(folder, name)| {
            let path = [folder.as_bytes(), b"/", name.to_bytes()].concat();
            CString::new(path).ok()
        });
        paths.find_map(|path| Library::open(&path, 0))
    })
}

fn loaded_library() -> Option<Library> {
    let mut found: Vec<CString> = Vec::new();
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader passes a structure that it filled, and the pointer given to it.
        let (name, found) = unsafe { ((*info).dlpi_name, &mut *found.cast::<Vec<CString>>()) };
        if !name.is_null() {
            // SAFETY: an object's name ends with a zero.
            let name = unsafe { CStr::from_ptr(name) };
            let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if file.starts_with(b"libpcap.so") {
                found.push(name.to_owned());
            }
        }
        0
    }
    // SAFETY: the function keeps to what the call expects of it, and the pointer is to a local that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    found.iter().find_map(|name| Library::open(name, libc::RTLD_NOLOAD))
}

/// The path that this library was loaded from.
pub fn own_path() -> Option<CString> {
    // SAFETY: the structure is pointers and integers, for which zeroes are valid.
    let mut info: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: the address is one of ours; the structure lives throughout the call.
    let known = unsafe { libc::dladdr(own_path as *const c_void, &raw mut info) };
    if known == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: an object's name ends with a zero and lives as long as the object.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_owned())
}

/// Whether this address lies in the system's library: a program that looked its functions up by name calls them directly, and
/// must not get handles of ours from that library's own calls.
pub fn holds(address: *const c_void) -> bool {
    let object = |address: *const c_void| {
        // SAFETY: the structure is pointers and integers, for which zeroes are valid.
        let mut info: libc::Dl_info = unsafe { mem::zeroed() };
        // SAFETY: any address is allowed; the structure lives throughout the call.
        let known = unsafe { libc::dladdr(address, &raw mut info) };
        (known != 0 && !address.is_null()).then_some(info.dli_fbase)
    };
    let theirs = system().pcap_create.and_then(|function| object(function as *const c_void));
    theirs.is_some() && object(address) == theirs
}

/// Whether this library was loaded in place of the system's, not in addition to it.
pub fn is_in_its_place() -> bool {
    let path = own_path().unwrap_or_default();
    let file = path.to_bytes().rsplit(|byte| *byte == b'/').next().map(OsStr::from_bytes);
    file.is_some_and(|file| file.as_bytes().starts_with(b"libpcap.so"))
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Calls the system's library, and marks its own calls as nested.
pub fn calling<T>(call: impl FnOnce(&'static System) -> T) -> T {
    let system = system();
    DEPTH.with(|depth| depth.set(depth.get() + 1));
    let result = call(system);
    DEPTH.with(|depth| depth.set(depth.get() - 1));
    result
}

/// Whether a call of the system's library is in progress.
pub fn is_inside() -> bool {
    DEPTH.with(|depth| depth.get() > 0)
}
