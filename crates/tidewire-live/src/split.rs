//! One link over several: every frame that comes to an interface leaves through one of several others, chosen by a steering
//! program in XDP.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use aya::{Ebpf, EbpfLoader, programs::Xdp};
use tidewire_steer::{
    Compiled, DATAGRAMS_MAX, Engine, STATE_BYTES,
    bpf::{Ending, Hook, MapUse, Output},
};

use super::{interface::Interface, state::Followed};
use crate::{
    Error, InterfaceEvent, InterfaceProblem, InterfaceState, KernelError, Operation, SettingError,
    error::system_error,
    sys::{
        bpf::{ARRAY, DEVICE_MAP, LRU_HASH, Link, Load, Map, Program, XDP, XdpMode, load_despite_signals},
        packet::RingSocket,
    },
};

static OBJECT: &[u8] = aya::include_bytes_aligned!("../objects/split.bpf.o");

/// Most outputs.
pub const OUTPUTS_MAX: usize = 64;

/// Places in the programs' maps, as bpf/split.bpf.c has them.
mod place {
    pub(super) const STEER: u32 = 0;
    pub(super) const REST: u32 = 1;
    pub(super) const RECEIVED: u32 = 0;
    pub(super) const UNSTEERED: u32 = 1;
}

/// `XDP_ABORTED`, `XDP_DROP`
const ABORTED: u32 = 0;
const DROP: u32 = 1;
/// `BPF_XDP`
const ATTACH_XDP: u32 = 37;

/// Settings of a split.
#[derive(Clone, Debug)]
pub struct SplitSettings {
    /// The interface whose incoming frames are split. The host does not see them any more.
    pub input: String,
    /// Interfaces that they leave through.
    pub outputs: Vec<String>,
    /// Chooses the output: its workers are the outputs. What it drops is counted and dropped.
    pub steering: Compiled,
    /// In the driver, or behind it; `None`: in the driver where it can.
    pub mode: Option<XdpMode>,
}

/// Frames and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitCount {
    /// Frames.
    pub packets: u64,
    /// Their bytes in memory.
    pub bytes: u64,
}

/// Counts of a split so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SplitCounts {
    /// Frames that came.
    pub received: SplitCount,
    /// Frames that left for each output. An output without room drops it afterwards, and counts that itself.
    pub outputs: Vec<SplitCount>,
    /// Frames that the steering program dropped.
    pub unsteered: SplitCount,
}

impl SplitCounts {
    /// Frames that came and neither left nor were dropped by the program: an output did not take them. While frames arrive, a
    /// few are in flight.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let left: u64 = self.outputs.iter().map(|count| count.packets).sum();
        self.received.packets.saturating_sub(left + self.unsteered.packets)
    }
}

/// An output, and the counters of what left for it.
#[derive(Debug)]
struct Port {
    interface: Followed,
    /// The index that frames go to, and are counted under; `None`: they are lost.
    index: Option<u32>,
    /// Frames that left for it while it had other indexes.
    earlier: SplitCount,
}

/// Result of one look at the interfaces.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SplitLook {
    /// Changes since the last look: the input is 0, the outputs follow.
    pub changes: Vec<InterfaceEvent>,
    /// Why an interface that is there again cannot be used. The next look tries again.
    pub failure: Option<Error>,
}

/// The program at the input.
#[derive(Debug)]
struct Attached {
    /// The input's index.
    index: u32,
    _link: Link,
    _promiscuous: RingSocket,
}

/// A link that is being split, until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Split {
    /// `None`: the input is gone, or cannot be used.
    attached: Option<Attached>,
    devices: Map,
    queues: u32,
    _maps: Vec<Map>,
    _programs: Vec<Program>,
    object: Ebpf,
    input: Followed,
    outputs: Vec<Port>,
    wanted: Option<XdpMode>,
    mode: XdpMode,
    advice: Option<String>,
}

impl Split {
    /// Starts.
    ///
    /// # Errors
    /// There is no such interface, an output is the input or has a smaller MTU, or would lose redirected frames in the mode
    /// of the settings, the steering program cannot run there, a program is attached already, privileges are missing.
    pub fn start(settings: &SplitSettings) -> Result<Self, Error> {
        let (input, outputs) = interfaces(settings)?;
        let (wanted, advice) = mode(settings.mode, &outputs)?;
        let count = outputs.len() as u32;
        settings.steering.check(Engine::Xdp, count)?;
        let failed = |what: &str, source: io::Error| failed(&format!("{}: {what}", settings.input), source);
        let object = load()?;
        let jump = map(&object, "jump")?;
        let egress = program(&object, "split_egress")?;
        let queues = input.rx_queues.max(1);
        let devices = Map::new(DEVICE_MAP, 4, 8, queues * count).map_err(|e| failed("making a map", e))?;
        let sums = map(&object, "outputs")?;
        for (number, output) in (0_u32..).zip(&outputs) {
            name_output(&devices, &sums, egress, (number, count, queues), output.index)
                .map_err(|e| failed("naming an output", e))?;
        }
        let (steer, mut maps) = steer(&settings.steering, count, &devices, &jump)?;
        let set = |place, program: BorrowedFd<'_>| {
            jump.set(place, program.as_raw_fd()).map_err(|e| failed("putting a program into its place", e))
        };
        set(place::REST, program(&object, "split_rest")?)?;
        set(place::STEER, steer.as_fd())?;
        let (attached, mode) = attach_to(&input, &object, wanted)?;
        maps.push(jump);
        let port = |output: &Interface| Port {
            interface: Followed::new(output),
            index: Some(output.index),
            earlier: SplitCount::default(),
        };
        Ok(Self {
            attached: Some(attached),
            devices,
            queues,
            _maps: maps,
            _programs: vec![steer],
            object,
            input: Followed::new(&input),
            outputs: outputs.iter().map(port).collect(),
            wanted,
            mode,
            advice,
        })
    }

    /// Looks at the interfaces, and continues where one is there again: at the input, or to the output. To be called a few
    /// times a second.
    pub fn look(&mut self) -> SplitLook {
        let mut look = SplitLook::default();
        let all = match Interface::all() {
            Ok(all) => all,
            Err(error) => return SplitLook { failure: Some(error), ..look },
        };
        let ports = self.outputs.iter_mut().map(|port| &mut port.interface);
        for (interface, followed) in std::iter::once(&mut self.input).chain(ports).enumerate() {
            for change in followed.look(&all) {
                look.changes.push(InterfaceEvent { interface, name: followed.name().to_owned(), change });
            }
        }
        // Those that cannot be used do not keep the others from it.
        let mut used = self.use_input(&all);
        for number in 0..self.outputs.len() {
            used = used.and(self.use_output(number));
        }
        look.failure = used.err();
        look
    }

    /// Takes the frames of the input, unless it does.
    fn use_input(&mut self, all: &[Interface]) -> Result<(), Error> {
        let found = self.input.among(all);
        if self.attached.as_ref().map(|attached| attached.index) == found.map(|found| found.index) {
            return Ok(());
        }
        self.attached = None;
        if let Some(found) = found {
            let (attached, mode) = attach_to(found, &self.object, self.wanted)?;
            (self.attached, self.mode) = (Some(attached), mode);
        }
        Ok(())
    }

    /// Sends frames to an output, unless they go there.
    fn use_output(&mut self, number: usize) -> Result<(), Error> {
        let count = self.outputs.len() as u32;
        let sums = map(&self.object, "outputs")?;
        let sent = self.left_for(&sums, number)?;
        let egress = program(&self.object, "split_egress")?;
        let Some(port) = self.outputs.get_mut(number) else { return Ok(()) };
        let Some(index) = port.interface.index().filter(|index| port.index != Some(*index)) else { return Ok(()) };
        // The map has room for as many indexes as there may be outputs.
        if let Some(old) = port.index.take() {
            port.earlier = sent;
            sums.delete(&old.to_ne_bytes()).map_err(|e| failed("forgetting an output", e))?;
        }
        name_output(&self.devices, &sums, egress, (number as u32, count, self.queues), index)
            .map_err(|e| failed("naming an output", e))?;
        port.index = Some(index);
        Ok(())
    }

    /// State of the input, as of the last look.
    #[must_use]
    pub fn input_state(&self) -> InterfaceState {
        self.input.state()
    }

    /// State of an output, as of the last look.
    #[must_use]
    pub fn output_state(&self, number: usize) -> InterfaceState {
        self.outputs.get(number).map_or(InterfaceState::Gone, |port| port.interface.state())
    }

    /// The outputs as the kernel describes them now, whatever their names; `None`: it is gone.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn outputs(&self) -> Result<Vec<Option<Interface>>, Error> {
        let all = Interface::all()?;
        Ok(self.outputs.iter().map(|port| port.interface.among(&all).cloned()).collect())
    }

    /// Frames that left for an output, under all indexes that it had.
    fn left_for(&self, sums: &Map, number: usize) -> Result<SplitCount, Error> {
        let Some(port) = self.outputs.get(number) else { return Ok(SplitCount::default()) };
        let Some(index) = port.index else { return Ok(port.earlier) };
        let value = sums.lookup(&index.to_ne_bytes()).map_err(|e| failed("reading counters", e))?;
        let SplitCount { packets, bytes } = sum(&value.unwrap_or_default());
        Ok(SplitCount { packets: port.earlier.packets + packets, bytes: port.earlier.bytes + bytes })
    }

    /// Where it runs.
    #[must_use]
    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Why an output loses frames that are redirected in the driver, and what to do: the reason for the generic hook where no
    /// mode was configured, and a warning otherwise.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Counts so far.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counts(&self) -> Result<SplitCounts, Error> {
        let counts = map(&self.object, "counts")?;
        let sums = map(&self.object, "outputs")?;
        let read = |map: &Map, key: u32| {
            let value = map.lookup(&key.to_ne_bytes()).map_err(|e| failed("reading counters", e))?;
            Ok::<_, Error>(sum(&value.unwrap_or_default()))
        };
        // Outputs first: what is counted in between must not seem to have left without having come.
        let outputs = (0..self.outputs.len()).map(|number| self.left_for(&sums, number)).collect::<Result<_, _>>()?;
        let unsteered = read(&counts, place::UNSTEERED)?;
        Ok(SplitCounts { outputs, unsteered, received: read(&counts, place::RECEIVED)? })
    }
}

/// Makes an interface an output, for each queue of the input: `place` is its number, how many outputs there are, and how many queues.
fn name_output(
    devices: &Map,
    sums: &Map,
    egress: BorrowedFd<'_>,
    (number, count, queues): (u32, u32, u32),
    index: u32,
) -> io::Result<()> {
    // struct bpf_devmap_val: an interface and a program that sees what leaves through it.
    let value = [index.to_ne_bytes(), egress.as_raw_fd().to_ne_bytes()].concat();
    for queue in 0..queues {
        devices.update(&(queue * count + number).to_ne_bytes(), &value, 0)?;
    }
    sums.update(&index.to_ne_bytes(), &vec![0; sums.value_bytes()], 0)
}

/// Takes all frames that come to an interface.
fn attach_to(input: &Interface, object: &Ebpf, wanted: Option<XdpMode>) -> Result<(Attached, XdpMode), Error> {
    let promiscuous = RingSocket::open().and_then(|socket| socket.promiscuous(input.index).map(|()| socket));
    let promiscuous =
        promiscuous.map_err(|e| failed(&format!("{}: taking frames for other machines", input.name), e))?;
    let (link, mode) = attach(&input.name, input.index, program(object, "split_entry")?, wanted)?;
    Ok((Attached { index: input.index, _link: link, _promiscuous: promiscuous }, mode))
}

/// All processors' counts together.
fn sum(values: &[u8]) -> SplitCount {
    let word = |bytes: &[u8]| bytes.first_chunk().copied().map_or(0, u64::from_ne_bytes);
    values.chunks_exact(16).fold(SplitCount::default(), |sum, pair| SplitCount {
        packets: sum.packets + word(pair),
        bytes: sum.bytes + pair.get(8..).map_or(0, word),
    })
}

fn interfaces(settings: &SplitSettings) -> Result<(Interface, Vec<Interface>), Error> {
    let input = Interface::find(&settings.input)?;
    if settings.outputs.is_empty() || settings.outputs.len() > OUTPUTS_MAX {
        return Err(SettingError::Outputs { given: settings.outputs.len(), limit: OUTPUTS_MAX }.into());
    }
    for (number, name) in settings.outputs.iter().enumerate() {
        if *name == settings.input || settings.outputs.iter().take(number).any(|other| other == name) {
            return Err(SettingError::DuplicateInterface { interface: name.clone() }.into());
        }
    }
    let outputs = settings.outputs.iter().map(|name| Interface::find(name)).collect::<Result<Vec<_>, _>>()?;
    for output in &outputs {
        let name = &output.name;
        if output.mtu < input.mtu {
            return Err(SettingError::OutputMtu {
                output: name.clone(),
                output_mtu: output.mtu,
                input: input.name.clone(),
                input_mtu: input.mtu,
            }
            .into());
        }
        if !output.up {
            return Err(Error::Interface { interface: name.clone(), problem: InterfaceProblem::OutputDown });
        }
    }
    Ok((input, outputs))
}

/// The mode to try, and what is to be known of it ([`Split::advice`]). What is redirected behind the driver goes through the
/// output's ordinary queue, which every interface has. Of a veth it is certain that it loses frames; drivers of cards may send
/// more than they say.
fn mode(configured: Option<XdpMode>, outputs: &[Interface]) -> Result<(Option<XdpMode>, Option<String>), Error> {
    if configured == Some(XdpMode::Generic) {
        return Ok((configured, None));
    }
    let lost = outputs.iter().find_map(|output| Some((output, output.loses_redirected()?)));
    match (configured, lost) {
        (None, Some((_, why))) => Ok((Some(XdpMode::Generic), Some(why))),
        (Some(_), Some((output, why))) if output.is_veth() => {
            let problem = InterfaceProblem::LosesRedirected { reason: why };
            Err(Error::Interface { interface: output.name.clone(), problem })
        }
        (configured, lost) => Ok((configured, lost.map(|(_, why)| why))),
    }
}

fn failed(what: &str, source: io::Error) -> Error {
    if source.raw_os_error() == Some(libc::EPERM) {
        return Error::privilege(what, "cap_bpf,cap_net_admin,cap_net_raw");
    }
    Error::kernel(what, source)
}

/// The loader could not load the programs.
fn refused(error: &(dyn std::error::Error + 'static)) -> Error {
    let source = match system_error(error).and_then(io::Error::raw_os_error) {
        Some(libc::EPERM) => io::Error::from_raw_os_error(libc::EPERM),
        _ => io::Error::other(error.to_string()),
    };
    failed("loading the splitting programs", source)
}

fn load() -> Result<Ebpf, Error> {
    let mut object = EbpfLoader::new().load(OBJECT).map_err(|error| refused(&error))?;
    for name in ["split_entry", "split_rest", "split_egress"] {
        let program = object.program_mut(name).ok_or_else(|| missing(name))?;
        let program: &mut Xdp = program.try_into().map_err(|error| refused(&error))?;
        load_despite_signals(|| program.load()).map_err(|error| refused(&error))?;
    }
    Ok(object)
}

fn missing(name: &str) -> Error {
    Error::kernel(format!("the splitting programs: {name}"), io::ErrorKind::NotFound.into())
}

fn program<'a>(object: &'a Ebpf, name: &str) -> Result<BorrowedFd<'a>, Error> {
    let program = object.program(name).ok_or_else(|| missing(name))?;
    program.fd().map(AsFd::as_fd).map_err(|error| missing(&error.to_string()))
}

fn map(object: &Ebpf, name: &str) -> Result<Map, Error> {
    use aya::maps::Map as Any;
    let data = match object.map(name) {
        Some(Any::ProgramArray(data) | Any::PerCpuArray(data) | Any::PerCpuHashMap(data)) => data,
        _ => return Err(missing(name)),
    };
    Map::from_descriptor(data.fd().as_fd()).map_err(|source| failed("using a map", source))
}

/// The steering program, with the maps that it needs for itself.
fn steer(steering: &Compiled, outputs: u32, devices: &Map, jump: &Map) -> Result<(Program, Vec<Map>), Error> {
    let rest = Ending::Jump { slot: place::REST, otherwise: DROP };
    // If the device is missing or down the frame is lost, which the counts show.
    let absent = Ending::Return(ABORTED);
    let code = steering.code(Hook::Xdp, Output::Redirect { workers: outputs, dropped: rest, absent, stamp: false })?;
    let state = Map::new(ARRAY, 4, STATE_BYTES as u32, 1).map_err(|e| failed("making a map", e))?;
    let datagrams = Map::new(LRU_HASH, 8, 8, DATAGRAMS_MAX as u32).map_err(|e| failed("making a map", e))?;
    let code = code.bytes(|map| match map {
        MapUse::State => state.number(),
        MapUse::Datagrams => datagrams.number(),
        // Interfaces in the place of sockets: redirecting is the same.
        MapUse::Sockets => devices.number(),
        MapUse::Programs => jump.number(),
        // The program counts that it goes on in.
        MapUse::Dropped => -1,
    });
    let program = Program::load_with(XDP, &code, Load { frags: true, attach: ATTACH_XDP });
    Ok((program.map_err(|e| failed("loading the steering program", e))?, vec![state, datagrams]))
}

fn attach(name: &str, index: u32, entry: BorrowedFd<'_>, mode: Option<XdpMode>) -> Result<(Link, XdpMode), Error> {
    let native = || Link::xdp(entry, index, XdpMode::Native).map(|link| (link, XdpMode::Native));
    let generic = || Link::xdp(entry, index, XdpMode::Generic).map(|link| (link, XdpMode::Generic));
    let attached = match mode {
        Some(XdpMode::Native) => native(),
        Some(XdpMode::Generic) => generic(),
        // A driver without XDP, or not for frames this long.
        None => native().or_else(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ERANGE) => generic(),
            _ => Err(error),
        }),
    };
    attached.map_err(|source| {
        let what = format!("attaching XDP to {name}");
        if source.raw_os_error() == Some(libc::EPERM) {
            return failed(&what, source);
        }
        KernelError::new(Operation::AttachXdp { interface: Some(name.to_owned()) }, what, source).into()
    })
}

#[cfg(test)]
mod tests {
    use aya::{EbpfError, maps::MapError, sys::SyscallError};

    use super::*;

    #[test]
    fn the_systems_error_is_found_in_the_loaders() {
        let of = |errno| {
            let io_error = io::Error::from_raw_os_error(errno);
            let error = MapError::SyscallError(SyscallError { call: "bpf_map_create", io_error });
            refused(&EbpfError::MapError(error))
        };
        assert!(matches!(of(libc::EPERM), Error::Privilege { .. }));
        assert!(matches!(of(libc::ENOMEM), Error::Kernel(_)));
        // A name in a text is not the system's answer.
        let text = io::Error::other("Operation not permitted: a function");
        assert!(matches!(refused(&text), Error::Kernel(_)));
    }
}
