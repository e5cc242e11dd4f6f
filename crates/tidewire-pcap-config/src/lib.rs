//! The configuration of the drop-in libpcap: device names, the environment, and a configuration file.
//!
//! [`plan`] reads all three and returns a complete and consistent plan, or an error with its position and a hint. It reads one
//! file and nothing else; it prints nothing and changes nothing. The manual is docs/pcap.md.

#![forbid(unsafe_code)]

mod device;
mod environment;
mod error;
mod fanout;
mod file;
mod locality;
mod read;
mod text;
mod variables;

use std::sync::Arc;

use tidewire_live::LiveEngine;
use tidewire_locality::Settings as Locality;

pub use device::Engine;
pub use environment::{Environment, SYSTEM_FILE};
pub use error::{ERROR_BYTES_MAX, Error, Source};
pub use fanout::{Fanout, GROUP_MAX};
pub use variables::Instance;

use device::Part;
use fanout::Level;
use file::File;
use text::{At, Text};
use variables::Variables;

/// Bytes of a slot of `rx_slots` without a capture length: a frame of 1,514 bytes and its header.
const SLOT_BYTES: u64 = 2048;
/// Bytes of a slot in addition to the frame: its header in the ring, and alignment.
const SLOT_HEADER_BYTES: u64 = 128;
/// Smallest ring, bytes.
const RING_BYTES_MIN: u64 = 2 << 20;

/// An interface of a device name.
#[derive(Clone, Debug)]
pub struct Device {
    /// As the program named it: `eth0:1`.
    pub given: String,
    /// The network interface: `eth0`.
    pub name: String,
    /// Its group, if it shares packets.
    pub group: Option<u8>,
    /// How it shares them; present if [`Device::group`] is.
    pub fanout: Option<Fanout>,
    /// Receive channels to set (`ETHTOOL_SCHANNELS`).
    pub rx_channels: Option<u32>,
    /// Combined channels to set.
    pub combined_channels: Option<u32>,
}

/// The capture length of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caplen {
    /// Most bytes.
    pub bytes: u32,
    /// Whether it overrides the program (a variable), or applies only if the program sets none (the file).
    pub overrides: bool,
}

/// Decision for a device.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The interfaces; one where [`Plan::is_plain`].
    pub devices: Vec<Device>,
    /// The engine; `None`: any that supports the rest.
    pub engine: Option<Engine>,
    /// The capture length.
    pub caplen: Option<Caplen>,
    /// Memory of one interface's ring, bytes.
    pub ring_bytes: Option<usize>,
    /// Reordering of packets.
    pub locality: Option<Locality>,
    /// This process among the instances of `tidewire run`.
    pub instance: Option<Instance>,
    /// Fan-out settings without a group: an error when the capture starts, unless `pcap_fanout` named a group.
    pub groupless: Option<Error>,
    /// The name for the system's library: without engine prefix or virtual number.
    pub system_name: String,
    /// Whether every device is a network interface; Tidewire can only capture from those.
    pub is_network: bool,
    variables: Level,
    file: Arc<File>,
}

impl Plan {
    /// Whether the system's library can do everything that is configured.
    pub fn is_plain(&self) -> bool {
        let asks = self
            .devices
            .iter()
            .any(|device| device.group.is_some() || device.rx_channels.is_some() || device.combined_channels.is_some());
        let sizes = self.caplen.is_some() || self.ring_bytes.is_some();
        let ours = asks || sizes || self.locality.is_some() || self.groupless.is_some() || self.devices.len() > 1;
        !self.is_network || self.engine == Some(Engine::System) || !(ours || self.engine.is_some())
    }

    /// Resolves a group and a mode of `pcap_fanout`; the program of the mode may be in the environment or the file.
    ///
    /// # Errors
    /// The group is not 0 to [`GROUP_MAX`]; the mode is unknown, or lacks its program.
    pub fn choose(&self, group: i64, mode: &str) -> Result<(u8, Fanout), Error> {
        let group = call_group(group)?;
        let call = call_level(mode)?;
        let mut levels = vec![&call, &self.variables];
        levels.extend([Some(group), None].iter().filter_map(|key| self.file.levels.get(key)));
        let fanout = fanout::resolve(&levels)?;
        if is_xdp(self.engine) {
            return Err(Error::whole(Source::Call(CALL), NO_XDP_GROUPS, "open the device with another engine"));
        }
        let members = self.instance.as_ref().map(|instance| instance.count);
        fanout::check_members(&fanout, members, &Source::Call(CALL))?;
        Ok((group, fanout))
    }

    /// A plan without settings: the system's library opens this name.
    fn plain(name: &str, part: &Part, is_network: bool) -> Self {
        let device = Device {
            given: part.given.clone(),
            name: part.name.clone(),
            group: None,
            fanout: None,
            rx_channels: None,
            combined_channels: None,
        };
        Self {
            devices: vec![device],
            engine: None,
            caplen: None,
            ring_bytes: None,
            locality: None,
            instance: None,
            groupless: None,
            system_name: name.into(),
            is_network,
            variables: Level::default(),
            file: Arc::default(),
        }
    }
}

/// The name of the call in errors.
const CALL: &str = "pcap_fanout";

fn call_group(group: i64) -> Result<u8, Error> {
    u8::try_from(group).map_err(|_| {
        let message = format!("group must be 0 to {GROUP_MAX}, got {group}");
        Error::whole(Source::Call(CALL), message, "")
    })
}

fn call_level(mode: &str) -> Result<Level, Error> {
    let text = Text::new(Arc::new(Source::Call(CALL)), 1, 1, mode);
    if text.text.is_empty() {
        return Err(text.error("no fan-out mode", "give one, as in hash"));
    }
    let mut call = Level::default();
    call.set_mode(&text)?;
    Ok(call)
}

/// Parses a mode as in `pcap_fanout` and `PCAP_FANOUT`: `hash+defrag`, or a steering program.
///
/// # Errors
/// The mode is unknown, or needs a program from elsewhere: see [`Plan::choose`].
pub fn parse_fanout(mode: &str) -> Result<Fanout, Error> {
    fanout::resolve(&[&call_level(mode)?])
}

/// The locality settings of files, which have no device.
///
/// # Errors
/// As [`plan`], for the environment and the configuration file.
pub fn locality(environment: &Environment<'_>) -> Result<Option<Locality>, Error> {
    let file = configuration(environment)?;
    locality::resolve(&Variables::read(environment)?.locality, &file.locality)
}

fn configuration(environment: &Environment<'_>) -> Result<Arc<File>, Error> {
    environment.file().map_or_else(|| Ok(Arc::default()), |(path, _)| File::read(&path).map(Arc::new))
}

/// Every mistake in the lines of the configuration file, at most 100, in their order; empty where it has none, or cannot be read.
/// [`plan`] fails with the first.
#[must_use]
pub fn mistakes(environment: &Environment<'_>) -> Vec<Error> {
    let file = environment.file().and_then(|(path, _)| read::read(&path, &read::CONFIGURATION).ok());
    file.map_or_else(Vec::new, |(source, text)| File::examine(source, &text).1)
}

/// The plan of the device that a program names. `exists` returns whether a network interface, or an alias, has exactly that name.
///
/// # Errors
/// The first error in the configuration file, the environment or the name; then no setting is used.
pub fn plan(name: &str, environment: &Environment<'_>, exists: &dyn Fn(&str) -> bool) -> Result<Plan, Error> {
    let file = configuration(environment)?;
    let variables = Variables::read(environment)?;
    let parsed = device::parse(name, exists)?;
    let locality = locality::resolve(&variables.locality, &file.locality)?;
    let request = Request { environment, file: &file, variables: &variables };
    let alone = parsed.parts.first().filter(|_| parsed.parts.len() == 1);
    if let Some(part) = alone
        && (parsed.engine == Some(Engine::System) || !part.exists)
    {
        let plain = Plan::plain(&parsed.rest, part, part.exists);
        return if part.exists { Ok(plain) } else { request.elsewhere(name, part, parsed.engine, plain) };
    }
    let engine = request.engine(name, parsed.engine, &parsed.parts)?;
    let mut groupless = None;
    let mut devices = Vec::new();
    for part in &parsed.parts {
        let (device, error) = request.device(part)?;
        groupless = groupless.or(error);
        devices.push(device);
    }
    let shares = groupless.is_some() || devices.iter().any(|device| device.group.is_some());
    if let Some(at) = engine.as_ref().filter(|at| at.value == Engine::System)
        && (shares || locality.is_some() || devices.len() > 1)
    {
        let what = if shares {
            "groups"
        } else if devices.len() > 1 {
            "several devices"
        } else {
            "locality"
        };
        return Err(at
            .text
            .error(format!("the engine system cannot have {what}"), "choose auto or packet, or unset one"));
    }
    if let Some(at) = engine.as_ref().filter(|at| is_xdp(Some(at.value)))
        && devices.iter().any(|device| device.group.is_some())
    {
        return Err(at.text.error(NO_XDP_GROUPS, "choose packet or auto, or remove the group"));
    }
    let caplen = variables.caplen.map(|bytes| Caplen { bytes, overrides: true });
    let caplen = caplen.or(file.caplen.map(|bytes| Caplen { bytes, overrides: false }));
    let slots = variables.rx_slots.or(file.rx_slots);
    Ok(Plan {
        system_name: alone.map_or(name, |part| &part.name).into(),
        devices,
        engine: engine.map(|at| at.value),
        caplen,
        ring_bytes: slots.map(|slots| ring_bytes(slots, caplen)),
        locality,
        instance: variables.instance.clone(),
        groupless,
        is_network: true,
        variables: variables.level.clone(),
        file,
    })
}

/// Bytes of a ring with this number of slots, each of 2,048 bytes, or fewer if the capture length needs less.
fn ring_bytes(slots: u64, caplen: Option<Caplen>) -> usize {
    let slot = caplen.map_or(SLOT_BYTES, |caplen| SLOT_BYTES.min(u64::from(caplen.bytes) + SLOT_HEADER_BYTES));
    (slots * slot).max(RING_BYTES_MIN) as usize
}

/// AF_XDP gives the packets of a queue to one process.
const NO_XDP_GROUPS: &str = "AF_XDP cannot share a group among processes";

fn is_xdp(engine: Option<Engine>) -> bool {
    matches!(engine, Some(Engine::Live(LiveEngine::Xdp | LiveEngine::XdpGeneric)))
}

/// All settings except the name.
struct Request<'a> {
    environment: &'a Environment<'a>,
    file: &'a File,
    variables: &'a Variables,
}

impl Request<'_> {
    /// The engine of all devices of a name.
    fn engine(&self, name: &str, before: Option<Engine>, parts: &[Part]) -> Result<Option<At<Engine>>, Error> {
        if let Some(engine) = before {
            let text = Text::new(Arc::new(Source::Device(name.into())), 1, 1, name);
            return Ok(Some(text.at(engine)));
        }
        let mut all = None;
        for (at, part) in parts.iter().enumerate() {
            let own = self.own_engine(part)?;
            let engine = own.or_else(|| self.variables.engine.clone().or_else(|| self.file.engine.clone()));
            let before: &Option<At<Engine>> = all.get_or_insert_with(|| engine.clone());
            let differs = before.as_ref().map(|at| at.value) != engine.as_ref().map(|at| at.value);
            if at > 0 && differs {
                let text = engine.as_ref().or(before.as_ref()).map(|at| at.text.clone());
                let message = format!("{} has a different engine from the devices before it", part.given);
                let hint = "give all devices of a capture the same engine";
                return Err(match text {
                    Some(text) => text.error(message, hint),
                    None => Error::whole(Source::Device(name.into()), message, hint),
                });
            }
        }
        Ok(all.flatten())
    }

    /// The engine that is set for this device only.
    fn own_engine(&self, part: &Part) -> Result<Option<At<Engine>>, Error> {
        let variable = variables::engine_of(self.environment, &part.given, &part.name)?;
        let file = || self.file.engines.get(&part.given).or_else(|| self.file.engines.get(&part.name));
        // A variable for all devices overrides the file's setting for one.
        Ok(variable.or_else(|| if self.variables.engine.is_some() { None } else { file().cloned() }))
    }

    /// The group of a device: from its own variable, the variable for all, the file's setting for it, for all, and the
    /// defaults.
    fn group(&self, given: &str) -> Result<Option<At<u8>>, Error> {
        let (variables, file) = (self.variables, self.file);
        let own = variables::group_of(self.environment, given)?;
        let named = own.or_else(|| variables.group.clone()).or_else(|| file.groups.get(given).cloned());
        let all = named.or_else(|| file.group.clone());
        Ok(all.or_else(|| variables.def_group.clone()).or_else(|| file.def_group.clone()))
    }

    /// A device with its group, or the error of fan-out settings without a group.
    fn device(&self, part: &Part) -> Result<(Device, Option<Error>), Error> {
        let (variables, file) = (&self.variables.level, self.file);
        let group = self.group(&part.given)?;
        let level = |key: Option<u8>| file.levels.get(&key);
        let mut levels = vec![variables];
        if let Some(at) = &group {
            levels.extend(level(Some(at.value)));
        }
        levels.extend(level(None));
        let mut groupless = None;
        let fanout = match &group {
            Some(at) => {
                let fanout = fanout::resolve(&levels)?;
                let members = self.variables.instance.as_ref().map(|instance| instance.count);
                let said = levels.iter().find_map(|level| level.first_text()).unwrap_or(&at.text);
                fanout::check_members(&fanout, members, &said.source)?;
                Some(fanout)
            }
            None => {
                groupless = levels.iter().find_map(|level| level.first_text()).map(|text| {
                    text.error(
                        "a fan-out mode without a group",
                        "set PCAP_GROUP, or def_group in the file, to 0 to 255",
                    )
                });
                None
            }
        };
        let channels = |of: &std::collections::BTreeMap<String, u32>| of.get(&part.name).copied();
        let device = Device {
            given: part.given.clone(),
            name: part.name.clone(),
            group: group.map(|at| at.value),
            fanout,
            rx_channels: channels(&file.rx_channels),
            combined_channels: channels(&file.combined_channels),
        };
        Ok((device, groupless))
    }

    /// Leaves a device that is not a network interface to the system's library, unless a setting would silently be ignored.
    fn elsewhere(&self, name: &str, part: &Part, before: Option<Engine>, plain: Plan) -> Result<Plan, Error> {
        if before == Some(Engine::System) {
            return Ok(plain);
        }
        let group = self.group(&part.given)?;
        let engine = self.own_engine(part)?.filter(|at| at.value != Engine::System);
        let what = match (&group, &engine, before) {
            (Some(at), ..) => format!("share its packets (group {})", at.value),
            (None, Some(_), _) | (None, None, Some(_)) => "have a private engine".into(),
            (None, None, None) => return Ok(plain),
        };
        let message = format!("'{}' is not a network interface and cannot {what}", error::word(&part.given));
        let hint = "name interfaces, as in eth0^eth1, or leave it to the system: system:NAME";
        Err(Error::whole(Source::Device(name.into()), message, hint))
    }
}

#[cfg(test)]
mod tests;
