use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use aya::{Ebpf, EbpfLoader, maps::MapData, programs};

use super::{
    KernelCounters, KernelSettings,
    clock::{Clock, ticks},
    constants::{Constants, TUNNEL_PORTS, random_key, set_classes, slots},
    layout::{CONTROL_WORDS, COUNTERS_WORDS, Jump, Key},
    table::Table,
};
use crate::{
    Error, KernelError, Operation,
    error::system_error,
    sys::{
        bpf::{Map, Program, load_despite_signals, possible_cpus},
        mmap_array::MmapArray,
    },
};
use tidewire_filter::FilterEnding;

/// Engines that publish a level.
const LEVELS: usize = 256;
/// Offset of the clocks among the words that user space writes; the level is the first word.
const CLOCKS: usize = 1;
/// Of the verifier's log, its end is shown, this many lines.
const LOG_LINES: usize = 12;

/// The two readings of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramType {
    Xdp,
    Socket,
}

/// Programs and maps in the kernel. They go away with the last of those who use them.
#[derive(Debug)]
pub struct Kernel {
    programs: Ebpf,
    /// Programs that call each other. The kernel empties it when its last descriptor goes away: this one is kept.
    jump: Map,
    sockets: Option<Map>,
    tables: Option<[Table; 2]>,
    tick_ns: u64,
    counts: MmapArray,
    control: MmapArray,
    levels: Vec<AtomicU32>,
    /// Entries that user space found no room for.
    full: AtomicU64,
    is_auto: bool,
    sheds: bool,
    tunnels: [[u16; TUNNEL_PORTS]; 2],
}

/// How full the tables are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Entries.
    pub entries: u64,
    /// Slots: about half of them are meant to be used.
    pub slots: u64,
}

impl Kernel {
    pub(super) fn load(settings: &KernelSettings, program_type: ProgramType) -> Result<Self, Error> {
        let object = match program_type {
            ProgramType::Xdp => include_bytes!("../../objects/capture_xdp.bpf.o").as_slice(),
            ProgramType::Socket => include_bytes!("../../objects/capture_socket.bpf.o").as_slice(),
        };
        let hash_key = random_key().map_err(|source| failed("reading random numbers", source))?;
        let cpus = possible_cpus().map_err(|source| failed("counting processors", source))?;
        let slots = [settings.flows_v4, settings.flows_v6].map(slots);
        let mut loader = EbpfLoader::new();
        loader.map_max_entries("counts", cpus as u32);
        loader.map_max_entries("flows4", slots[0]).map_max_entries("flows6", slots[1]);
        if program_type == ProgramType::Xdp {
            loader.map_max_entries("xsks", settings.sockets.max(1));
        }
        let constants = Constants::new(settings, slots);
        constants.write(&mut loader);
        loader.override_global("hash_key", &hash_key, true);
        let mut programs = loader.load(object).map_err(|error| refused(&error))?;
        load_programs(&mut programs, settings, program_type)?;

        let tick = program(&programs, "tidewire_tick")?.try_clone_to_owned();
        let ticks = tick.and_then(|tick| ticks(&Program::from_descriptor(tick)));
        let (tick_ns, clocks) = ticks.map_err(|source| failed("reading the kernel's ticks", source))?;
        let map = |name: &str| descriptor(&programs, name);
        let share =
            |name: &str, words| MmapArray::new(map(name)?, words * 8).map_err(|source| failed("sharing a map", source));
        let tables = if constants.has_flows == 0 {
            None
        } else {
            let table = |name, is_v6, slots| {
                Table::new(map(name)?, is_v6, slots, hash_key).map_err(|source| failed("sharing a map", source))
            };
            Some([table("flows4", false, slots[0])?, table("flows6", true, slots[1])?])
        };
        let copy = |name| Map::from_descriptor(map(name)?).map_err(|source| failed("using a map", source));
        let counts = share("counts", cpus * COUNTERS_WORDS)?;
        let control = share("controls", CONTROL_WORDS)?;
        if let Some(word) = control.words().get(CLOCKS) {
            word.store(clocks, Relaxed);
        }
        let (jump, sockets) = (copy("jump")?, (settings.sockets > 0).then(|| copy("xsks")).transpose()?);
        set_classes(settings, &share("classes", 8192)?);
        let kernel = Self {
            programs,
            jump,
            sockets,
            tables,
            tick_ns,
            counts,
            control,
            levels: (0..LEVELS).map(|_| AtomicU32::new(0)).collect(),
            full: AtomicU64::new(0),
            is_auto: settings.is_auto,
            sheds: settings.shed.is_some(),
            tunnels: [constants.tunnel_destinations, constants.tunnel_ports],
        };
        for (jump, name) in [
            (Jump::Flow, "tidewire_flow"),
            (Jump::Refused, "tidewire_refused"),
            (Jump::Unsteered, "tidewire_unsteered"),
        ] {
            if is_used(name, settings) {
                kernel.set_jump(jump, program(&kernel.programs, name)?)?;
            }
        }
        Ok(kernel)
    }

    /// The program that every packet comes to.
    ///
    /// # Errors
    /// None, once the programs are loaded.
    pub fn entry(&self) -> Result<BorrowedFd<'_>, Error> {
        program(&self.programs, "tidewire_entry")
    }

    /// Puts a program into its place. XDP programs must be loaded for frames of several buffers (`BPF_F_XDP_HAS_FRAGS`).
    ///
    /// # Errors
    /// The kernel refuses it: it is of another kind than the others.
    pub fn set_jump(&self, jump: Jump, program: BorrowedFd<'_>) -> Result<(), Error> {
        use std::os::fd::AsRawFd;
        let refused = |source| {
            KernelError::new(Operation::InstallProgram, format!("putting a program into its place ({jump:?})"), source)
        };
        Ok(self.jump.set(jump as u32, program.as_raw_fd()).map_err(refused)?)
    }

    /// The array of programs that call each other: [`Jump`].
    #[must_use]
    pub fn jump(&self) -> &Map {
        &self.jump
    }

    /// How a filter in [`Jump::Filter`] ends; `otherwise` is what drops a packet.
    #[must_use]
    pub fn filter_ending(&self, otherwise: u32) -> FilterEnding {
        let (matched, refused) = (Jump::Flow as u32, Jump::Refused as u32);
        FilterEnding::Jump { programs: self.jump.number(), matched, refused, otherwise }
    }

    /// XDP: the map of AF_XDP sockets, where there are to be some.
    #[must_use]
    pub fn sockets(&self) -> Option<&Map> {
        self.sockets.as_ref()
    }

    /// Counts since the programs were loaded.
    #[must_use]
    pub fn counters(&self) -> KernelCounters {
        let mut sum = KernelCounters::default();
        self.counts.words().chunks(COUNTERS_WORDS).for_each(|words| sum.add(&KernelCounters::of(words)));
        sum
    }

    /// How full the tables for IPv4 and IPv6 are.
    #[must_use]
    pub fn occupancy(&self) -> [Occupancy; 2] {
        let Some(tables) = &self.tables else { return Default::default() };
        let made = self.counters().made;
        [0, 1].map(|version: usize| {
            let [by_us, freed] = tables[version].made_and_freed();
            let entries = (made[version] + by_us).saturating_sub(freed);
            Occupancy { entries, slots: tables[version].slots().into() }
        })
    }

    /// Entries that user space requested and found no room for.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full.load(Relaxed)
    }

    /// Publishes a level, thousandths: the highest of all engines' counts.
    pub(super) fn publish(&self, engine: usize, permille: u32) {
        if let Some(level) = self.levels.get(engine % LEVELS) {
            level.store(permille, Relaxed);
        }
        let highest = self.levels.iter().map(|level| level.load(Relaxed)).max().unwrap_or(0);
        if let Some(word) = self.control.words().first() {
            word.store(highest.into(), Relaxed);
        }
    }

    pub(super) fn table(&self, key: &Key) -> Option<&Table> {
        self.tables.as_ref().map(|tables| &tables[usize::from(key.address.is_some())])
    }

    /// The tables for IPv4 and IPv6, where there are any.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten()
    }

    /// Notes where there was no room.
    pub(super) fn note(&self, had_room: bool) -> bool {
        if !had_room {
            self.full.fetch_add(1, Relaxed);
        }
        had_room
    }

    pub(super) fn clock(&self) -> Clock<'_> {
        Clock { tick_ns: self.tick_ns, clocks: self.control.words().get(CLOCKS) }
    }

    pub(super) fn is_auto(&self) -> bool {
        self.is_auto
    }

    /// Whether entries are made without a request.
    pub(super) fn counts_by_itself(&self) -> bool {
        self.is_auto || self.sheds
    }

    /// Whether the programs leave this direction's packets to the engine, which looks for tunnels in them.
    pub(super) fn may_be_tunnel(&self, key: &Key) -> bool {
        let [destinations, both] = &self.tunnels;
        let (source, destination) = (key.rest as u16, (key.rest >> 16) as u16);
        key.rest >> 56 == 17 && [source, destination].iter().any(|port| *port != 0 && both.contains(port))
            || key.rest >> 56 == 17 && destination != 0 && destinations.contains(&destination)
    }
}

/// Programs that nothing leads to are not loaded: the verifier takes a second for the larger ones.
fn is_used(name: &str, settings: &KernelSettings) -> bool {
    match name {
        "tidewire_flow" | "tidewire_refused" => settings.has_filter,
        "tidewire_unsteered" => settings.has_steering,
        _ => true,
    }
}

fn load_programs(programs: &mut Ebpf, settings: &KernelSettings, program_type: ProgramType) -> Result<(), Error> {
    for (name, program) in programs.programs_mut().filter(|(name, _)| is_used(name, settings)) {
        let loaded = match (program_type, program) {
            (ProgramType::Xdp, programs::Program::Xdp(program)) => load_despite_signals(|| program.load()),
            (ProgramType::Socket, programs::Program::SocketFilter(program)) => load_despite_signals(|| program.load()),
            _ => return Err(missing(name)),
        };
        loaded.map_err(|error| verified(name, program_type, error))?;
    }
    Ok(())
}

fn program<'a>(programs: &'a Ebpf, name: &str) -> Result<BorrowedFd<'a>, Error> {
    let program = programs.program(name).ok_or_else(|| missing(name))?;
    program.fd().map(AsFd::as_fd).map_err(|error| missing(&error.to_string()))
}

fn descriptor<'a>(programs: &'a Ebpf, name: &str) -> Result<BorrowedFd<'a>, Error> {
    use aya::maps::Map as Kind;
    let map: &MapData = match programs.map(name).ok_or_else(|| missing(name))? {
        Kind::Array(map) | Kind::ProgramArray(map) | Kind::XskMap(map) => map,
        _ => return Err(missing(name)),
    };
    Ok(map.fd().as_fd())
}

fn missing(name: &str) -> Error {
    failed(&format!("loading the programs: {name}"), io::ErrorKind::NotFound.into())
}

fn failed(what: &str, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::PermissionDenied {
        return Error::privilege("loading programs into the kernel", "cap_bpf,cap_perfmon,cap_net_admin");
    }
    Error::kernel(what, source)
}

fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Maps could not be made.
fn refused(error: &(dyn std::error::Error + 'static)) -> Error {
    let source = system_error(error).map_or_else(|| io::Error::other(error.to_string()), copy);
    match source.raw_os_error() {
        Some(libc::ENOMEM | libc::E2BIG) => {
            KernelError::new(Operation::MakeFlowTables, "making the flow tables in the kernel", source).into()
        }
        _ => failed("making maps in the kernel", source),
    }
}

/// The verifier said no.
fn verified(name: &str, program_type: ProgramType, error: programs::ProgramError) -> Error {
    let programs::ProgramError::LoadError { io_error, verifier_log } = error else {
        let source = system_error(&error).map_or_else(|| io::Error::other(error.to_string()), copy);
        return failed(&format!("loading {name} into the kernel"), source);
    };
    let log = verifier_log.to_string();
    if io_error.kind() == io::ErrorKind::PermissionDenied && log.trim().is_empty() {
        return failed(name, io_error);
    }
    let kernel = match program_type {
        ProgramType::Xdp => "Linux 5.18 (XDP frames of several buffers)",
        ProgramType::Socket => "Linux 5.12 (atomic operations)",
    };
    let lines: Vec<_> = log.trim().lines().collect();
    let log = lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default().join(" | ");
    KernelError::new(Operation::LoadPrograms { kernel, log }, format!("loading {name} into the kernel"), io_error)
        .into()
}
