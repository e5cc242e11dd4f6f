//! What is asked of a device that a program opens: by its name, the environment, and a configuration file.
//!
//! [`plan`] reads all three and either says what is to be done, complete and without contradictions, or what is wrong,
//! where, and what to do. It reads one file and nothing else; it prints nothing and changes nothing. The manual is
//! docs/pcap.md.

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

/// Bytes that a slot of `rx_slots` stands for where no capture length is asked for: a frame of 1,514 bytes and its header.
const SLOT_BYTES: u64 = 2048;
/// Bytes beside those of a frame in a slot: its header in the ring, and the alignment of the next one.
const SLOT_HEADER_BYTES: u64 = 128;
/// Bytes of the smallest ring that is asked for.
const RING_BYTES_MIN: u64 = 2 << 20;

/// One of the interfaces that a name stands for.
#[derive(Clone, Debug)]
pub struct Device {
    /// As the program named it: `eth0:1`.
    pub asked: String,
    /// The network interface: `eth0`.
    pub name: String,
    /// Its group, where it shares its packets.
    pub group: Option<u8>,
    /// How; there where [`Device::group`] is.
    pub fanout: Option<Fanout>,
    /// Receive channels that it is to have (`ETHTOOL_SCHANNELS`).
    pub rx_channels: Option<u32>,
    /// Combined channels that it is to have.
    pub combined_channels: Option<u32>,
}

/// Captured bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caplen {
    /// So many at most.
    pub bytes: u32,
    /// Whether it stands whatever the program asks for (a variable), or only where it asks for nothing (the file).
    pub overrides: bool,
}

/// What is asked of a device.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The interfaces; one where [`Plan::is_plain`].
    pub devices: Vec<Device>,
    /// What captures; `None`: whatever can do the rest.
    pub engine: Option<Engine>,
    /// Captured bytes of a packet.
    pub caplen: Option<Caplen>,
    /// Memory of one interface's ring, bytes.
    pub ring_bytes: Option<usize>,
    /// Putting packets in order.
    pub locality: Option<Locality>,
    /// This process among others of its kind.
    pub instance: Option<Instance>,
    /// What was said of sharing without a group being named: an error when the capture begins, unless `pcap_fanout` named
    /// one.
    pub groupless: Option<Error>,
    /// The name for the system's library: without engine or virtual number.
    pub system_name: String,
    /// Whether every device is a network interface; only those can be Tidewire's.
    pub is_network: bool,
    variables: Level,
    file: Arc<File>,
}

impl Plan {
    /// Whether nothing is asked that the system's library could not do by itself.
    pub fn is_plain(&self) -> bool {
        let asks = self
            .devices
            .iter()
            .any(|device| device.group.is_some() || device.rx_channels.is_some() || device.combined_channels.is_some());
        let sizes = self.caplen.is_some() || self.ring_bytes.is_some();
        let ours = asks || sizes || self.locality.is_some() || self.groupless.is_some() || self.devices.len() > 1;
        !self.is_network || self.engine == Some(Engine::System) || !(ours || self.engine.is_some())
    }

    /// What `pcap_fanout` asks for: a group, and a mode whose program may be in the environment or the file.
    ///
    /// # Errors
    /// The group is not one of 0 to [`GROUP_MAX`]; the mode is misspelt, or lacks its program.
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

    /// Nothing is asked: the system's library opens this name.
    fn plain(name: &str, part: &Part, is_network: bool) -> Self {
        let device = Device {
            asked: part.asked.clone(),
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

/// The call that errors name.
const CALL: &str = "pcap_fanout";

fn call_group(group: i64) -> Result<u8, Error> {
    u8::try_from(group).map_err(|_| {
        let message = format!("group {group} is out of range");
        Error::whole(Source::Call(CALL), message, format!("give 0 to {GROUP_MAX}"))
    })
}

fn call_level(mode: &str) -> Result<Level, Error> {
    let text = Text::new(Arc::new(Source::Call(CALL)), 1, 1, mode);
    if text.text.is_empty() {
        return Err(text.error("no mode is given", "give one, as in hash"));
    }
    let mut call = Level::default();
    call.set_mode(&text)?;
    Ok(call)
}

/// A mode by itself, as `pcap_fanout` and `PCAP_FANOUT` take it: `hash+defrag`, or a steering program.
///
/// # Errors
/// It is misspelt, or needs a program that it does not bring: see [`Plan::choose`].
pub fn parse_fanout(mode: &str) -> Result<Fanout, Error> {
    fanout::resolve(&[&call_level(mode)?])
}

/// What is asked of locality buffering where there is no device: for files.
///
/// # Errors
/// As [`plan`], for everything that the environment and the configuration file say.
pub fn locality(environment: &Environment<'_>) -> Result<Option<Locality>, Error> {
    let file = configuration(environment)?;
    locality::resolve(&Variables::read(environment)?.locality, &file.locality)
}

fn configuration(environment: &Environment<'_>) -> Result<Arc<File>, Error> {
    environment.file().map_or_else(|| Ok(Arc::default()), |(path, _)| File::read(&path).map(Arc::new))
}

/// What is asked of the device that a program names. `exists` says whether there is a network interface, or an alias, of
/// exactly that name.
///
/// # Errors
/// The first thing that is wrong in the configuration file, the environment or the name; nothing of any is used then.
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
        return Err(at.text.error(NO_XDP_GROUPS, "choose packet or auto, or take the group away"));
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

/// Memory for so many packets: slots of 2,048 bytes, or what the capture length needs where that is less.
fn ring_bytes(slots: u64, caplen: Option<Caplen>) -> usize {
    let slot = caplen.map_or(SLOT_BYTES, |caplen| SLOT_BYTES.min(u64::from(caplen.bytes) + SLOT_HEADER_BYTES));
    (slots * slot).max(RING_BYTES_MIN) as usize
}

/// AF_XDP gives a queue's packets to one process.
const NO_XDP_GROUPS: &str = "AF_XDP has no groups of several processes";

fn is_xdp(engine: Option<Engine>) -> bool {
    matches!(engine, Some(Engine::Live(LiveEngine::Xdp | LiveEngine::XdpGeneric)))
}

/// What everything but the name says.
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
                let message = format!("{} has another engine than the devices before it", part.asked);
                let hint = "one capture has one engine: give all of them the same";
                return Err(match text {
                    Some(text) => text.error(message, hint),
                    None => Error::whole(Source::Device(name.into()), message, hint),
                });
            }
        }
        Ok(all.flatten())
    }

    /// The engine that is said for just this device.
    fn own_engine(&self, part: &Part) -> Result<Option<At<Engine>>, Error> {
        let variable = variables::engine_of(self.environment, &part.asked, &part.name)?;
        let file = || self.file.engines.get(&part.asked).or_else(|| self.file.engines.get(&part.name));
        // A variable for all devices comes before what the file says of this one.
        Ok(variable.or_else(|| if self.variables.engine.is_some() { None } else { file().cloned() }))
    }

    /// The group of a device: its own variable, the variable for all, what the file says of it, of all, and the defaults.
    fn group(&self, asked: &str) -> Result<Option<At<u8>>, Error> {
        let (variables, file) = (self.variables, self.file);
        let own = variables::group_of(self.environment, asked)?;
        let named = own.or_else(|| variables.group.clone()).or_else(|| file.groups.get(asked).cloned());
        let all = named.or_else(|| file.group.clone());
        Ok(all.or_else(|| variables.def_group.clone()).or_else(|| file.def_group.clone()))
    }

    /// A device with its group, or why sharing was asked for and cannot be had.
    fn device(&self, part: &Part) -> Result<(Device, Option<Error>), Error> {
        let (variables, file) = (&self.variables.level, self.file);
        let group = self.group(&part.asked)?;
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
                        "this says how to share packets, and no group says with whom",
                        "set PCAP_GROUP, or def_group in the file, to 0 to 255",
                    )
                });
                None
            }
        };
        let channels = |of: &std::collections::BTreeMap<String, u32>| of.get(&part.name).copied();
        let device = Device {
            asked: part.asked.clone(),
            name: part.name.clone(),
            group: group.map(|at| at.value),
            fanout,
            rx_channels: channels(&file.rx_channels),
            combined_channels: channels(&file.combined_channels),
        };
        Ok((device, groupless))
    }

    /// A device that is no network interface goes to the system's library, unless something is asked that would silently
    /// not be done.
    fn elsewhere(&self, name: &str, part: &Part, before: Option<Engine>, plain: Plan) -> Result<Plan, Error> {
        if before == Some(Engine::System) {
            return Ok(plain);
        }
        let group = self.group(&part.asked)?;
        let engine = self.own_engine(part)?.filter(|at| at.value != Engine::System);
        let what = match (&group, &engine, before) {
            (Some(at), ..) => format!("share its packets (group {})", at.value),
            (None, Some(_), _) | (None, None, Some(_)) => "have a private engine".into(),
            (None, None, None) => return Ok(plain),
        };
        let message = format!("'{}' is no network interface, and cannot {what}", error::word(&part.asked));
        let hint = "name interfaces, as in eth0^eth1, or leave it to the system: system:NAME";
        Err(Error::whole(Source::Device(name.into()), message, hint))
    }
}

#[cfg(test)]
mod tests;
