//! Settings of the environment: fan-out, sizes, engines.

use std::path::{Path, PathBuf};

use super::{
    device::{Engine, engine, variable_name},
    environment::Environment,
    error::Error,
    fanout::Level,
    file::{caplen, group, program_file, slots},
    locality::LocalityOptions,
    text::{At, Text},
};
use tidewire_live::LiveEngine;

/// Most instances of a run: as many as a kernel's group has (`PACKET_FANOUT_MAX`, linux/if_packet.h: 256 members).
pub const INSTANCES_MAX: u64 = 256;

/// Names after `PFQ_` that are not devices.
const NOT_DEVICES: &[&str] = &[
    "CONFIG",
    "FORCE_ALL",
    "GROUP",
    "DEF_GROUP",
    "CAPLEN",
    "RX_SLOTS",
    "TX_SLOTS",
    "TX_SYNC",
    "TX_HW_QUEUE",
    "TX_IDX_THREAD",
    "LANG_SRC",
    "LANG_LIT",
    "VLAN",
];

/// This process among the instances that `tidewire run` started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its number, from 0.
    pub number: u32,
    /// Number of instances.
    pub count: u32,
    /// The file with a slot for each instance ([`tidewire_live::sys::shared_counters`]).
    pub counters: Option<PathBuf>,
}

/// Settings of variables for all devices.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    pub group: Option<At<u8>>,
    pub def_group: Option<At<u8>>,
    pub level: Level,
    pub caplen: Option<u32>,
    pub rx_slots: Option<u64>,
    pub engine: Option<At<Engine>>,
    pub locality: LocalityOptions,
    pub instance: Option<Instance>,
}

impl Variables {
    /// Reads and checks the variables.
    pub fn read(environment: &Environment<'_>) -> Result<Self, Error> {
        let text = |names: &[&str]| environment.first(names);
        let mut level = Level::default();
        if let Some(mode) = text(&["PCAP_FANOUT"])? {
            level.set_mode(&mode)?;
        }
        if let Some(program) = text(&["TIDEWIRE_STEERING", "PFQ_LANG_LIT"])? {
            level.set_program(&program)?;
        }
        if let Some(path) = text(&["PFQ_LANG_SRC"])? {
            if level.program_text().is_some() {
                return Err(path.error("a second steering program", "unset PFQ_LANG_SRC, or PFQ_LANG_LIT"));
            }
            level.set_program(&program_file(&path)?)?;
        }
        if let Some(program) = text(&["PCAP_CBPF"])? {
            level.set_classic(&program)?;
        }
        if let Some(ids) = text(&["PFQ_VLAN"])? {
            level.set_vlan(&ids)?;
        }
        level.check()?;
        // Without effect, but checked.
        text(&["PFQ_TX_SLOTS"])?.map(|text| slots(&text)).transpose()?;
        let force = text(&["PFQ_FORCE_ALL"])?;
        let forced = force.map(|text| Ok(text.switch("all devices")?.then(|| accelerated(&text)))).transpose()?;
        let named = text(&["TIDEWIRE_ENGINE"])?.map(|text| Ok(text.at(engine(&text)?))).transpose()?;
        Ok(Self {
            group: grouped(text(&["PCAP_GROUP", "PFQ_GROUP"])?)?,
            def_group: grouped(text(&["PCAP_DEF_GROUP", "PFQ_DEF_GROUP"])?)?,
            level,
            caplen: text(&["PCAP_CAPLEN", "PFQ_CAPLEN"])?.map(|text| caplen(&text)).transpose()?,
            rx_slots: text(&["PCAP_RX_SLOTS", "PFQ_RX_SLOTS"])?.map(|text| slots(&text)).transpose()?,
            engine: named.or(forced.flatten()),
            locality: LocalityOptions::of(environment)?,
            instance: instance(environment)?,
        })
    }
}

/// The group that variables set for one device.
pub fn group_of(environment: &Environment<'_>, device: &str) -> Result<Option<At<u8>>, Error> {
    let names = [device.to_owned(), variable_name(device)];
    for name in names {
        let found = environment.first(&[&format!("PCAP_GROUP_{name}"), &format!("PFQ_GROUP_{name}")])?;
        if found.is_some() {
            return grouped(found);
        }
    }
    Ok(None)
}

/// The engine that variables set for one device, by the name in the program or the interface's.
pub fn engine_of(environment: &Environment<'_>, given: &str, interface: &str) -> Result<Option<At<Engine>>, Error> {
    for name in [given.to_owned(), variable_name(given), interface.to_owned(), variable_name(interface)] {
        if let Some(text) = environment.text(&format!("TIDEWIRE_ENGINE_{name}"))? {
            return Ok(Some(text.at(engine(&text)?)));
        }
        let old = format!("PFQ_{name}");
        if NOT_DEVICES.contains(&name.as_str()) || name.starts_with("GROUP_") {
            continue;
        }
        if let Some(text) = environment.text(&old)?
            && text.switch("this device")?
        {
            return Ok(Some(accelerated(&text)));
        }
    }
    Ok(None)
}

/// The engine of the fan-out paper: any of Tidewire's.
fn accelerated(text: &Text) -> At<Engine> {
    text.at(Engine::Live(LiveEngine::Auto))
}

fn grouped(text: Option<Text>) -> Result<Option<At<u8>>, Error> {
    text.map(|text| Ok(text.at(group(&text)?))).transpose()
}

fn instance(environment: &Environment<'_>) -> Result<Option<Instance>, Error> {
    let number = environment.text("TIDEWIRE_INSTANCE")?;
    let count = environment.text("TIDEWIRE_INSTANCES")?;
    let counters = environment.text("TIDEWIRE_COUNTERS")?;
    let (Some(number), Some(count)) = (&number, &count) else {
        let alone = number.or(count).or(counters);
        return alone.map_or(Ok(None), |text| {
            Err(text.error("TIDEWIRE_INSTANCE and TIDEWIRE_INSTANCES go together", "tidewire run sets both"))
        });
    };
    let many = count.number("instances", 1..=INSTANCES_MAX)?;
    let this = number.number("instance", 0..=many - 1)?;
    let counters = counters.map(|text| {
        let path = Path::new(&text.text);
        let relative = || text.error(format!("'{}' is not an absolute path", text.shown()), "tidewire run sets it");
        if path.is_absolute() { Ok(path.to_owned()) } else { Err(relative()) }
    });
    Ok(Some(Instance { number: this as u32, count: many as u32, counters: counters.transpose()? }))
}
