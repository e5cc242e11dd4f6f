//! The environment of the instances, checked before any of them starts.

use std::{collections::BTreeMap, env, ffi::OsString, path::Path};

use tidewire_live::packet::groups_in_use;

use super::options::Options;
use crate::{
    check_steering::program_text,
    error::{CliError, notify},
};
use tidewire_pcap_config::{Environment, Plan, SYSTEM_FILE};

/// Variables to set (`Some`) and to unset (`None`).
pub type Variables = BTreeMap<String, Option<OsString>>;

/// Variables that may contain a steering program.
const PROGRAMS: &[&str] = &["TIDEWIRE_STEERING", "PFQ_LANG_LIT", "PFQ_LANG_SRC"];

/// The variables of all instances.
pub fn variables(options: &Options, count: u32) -> Result<Variables, CliError> {
    let mut variables = Variables::new();
    let mut set = |name: &str, value: OsString| drop(variables.insert(name.into(), Some(value)));
    set("TIDEWIRE_INSTANCES", count.to_string().into());
    if let Some(path) = &options.config {
        let path = std::path::absolute(path).map_err(|error| CliError::Usage(format!("--config: {error}")))?;
        set("PCAP_CONFIG", path.into());
    }
    if let Some(engine) = &options.engine {
        set("TIDEWIRE_ENGINE", engine.into());
    }
    if let Some(locality) = &options.locality {
        for (name, value) in locality_of(locality)? {
            set(&name, value.into());
        }
    }
    if let Some(group) = options.group {
        set("PCAP_GROUP", group.to_string().into());
    }
    if let Some(mode) = &options.fanout {
        set("PCAP_FANOUT", mode.into());
    }
    if let Some(program) = &options.steer {
        set("TIDEWIRE_STEERING", program_text(program)?.into());
    }
    // Options replace the settings of the environment.
    if options.fanout.is_some() || options.steer.is_some() {
        for name in PROGRAMS.iter().chain(&["PCAP_FANOUT", "PCAP_CBPF"]) {
            let keep = *name == "PCAP_CBPF" && options.fanout.as_deref().is_some_and(|mode| mode.starts_with("cbpf"));
            if !keep {
                variables.entry((*name).into()).or_insert(None);
            }
        }
    }
    let checked = plan(&variables)?;
    // A single process can use AF_XDP, which has no groups.
    let is_alone = count == 1 && options.engine.as_deref().is_some_and(|engine| engine.starts_with("xdp"));
    if !is_alone && checked.devices.iter().all(|device| device.group.is_none()) {
        variables.insert("PCAP_DEF_GROUP".into(), Some(free_group().to_string().into()));
        plan(&variables)?;
    }
    Ok(variables)
}

/// Resolves these variables as the drop-in library does, for an arbitrary device.
fn plan(variables: &Variables) -> Result<Plan, CliError> {
    let lookup = |name: &str| match (name, variables.get(name)) {
        ("TIDEWIRE_INSTANCE", _) => Some("0".into()),
        ("TIDEWIRE_COUNTERS", _) => None,
        (_, Some(value)) => value.clone(),
        (name, None) => env::var_os(name),
    };
    let environment = Environment::new(&lookup, Path::new(SYSTEM_FILE));
    let failed = |error: tidewire_pcap_config::Error| {
        let error = named_as_given(&error.to_string());
        let by_option = variables.contains_key("PCAP_CONFIG");
        CliError::Usage(if by_option {
            error.replace("PCAP_CONFIG, or unset it", "--config").replace("PCAP_CONFIG", "--config")
        } else {
            error
        })
    };
    tidewire_pcap_config::plan("device", &environment, &|_| true).map_err(|first| {
        let mut mistakes = tidewire_pcap_config::mistakes(&environment);
        // An error elsewhere is not among them.
        let last = if mistakes.first() == Some(&first) { mistakes.pop() } else { None };
        match last {
            Some(last) => {
                mistakes.into_iter().for_each(|mistake| notify(failed(mistake)));
                failed(last)
            }
            None => failed(first),
        }
    })
}

/// Replaces names of variables in errors by the options that set them.
fn named_as_given(error: &str) -> String {
    let options = [
        ("PCAP_FANOUT", "--fanout"),
        ("TIDEWIRE_STEERING", "--steer"),
        ("TIDEWIRE_ENGINE", "--engine"),
        ("TIDEWIRE_LOCALITY", "--locality"),
        ("PCAP_GROUP", "--group"),
    ];
    let rest = |variable: &str| {
        let rest = error.strip_prefix(variable)?;
        rest.starts_with([':', ',']).then_some(rest)
    };
    let found = options.iter().find_map(|(variable, option)| Some(format!("{option}{}", rest(variable)?)));
    found.unwrap_or_else(|| error.to_owned())
}

/// Converts `port,batch=8000,timeout=50ms,thread` to variables.
fn locality_of(text: &str) -> Result<Vec<(String, String)>, CliError> {
    let mut words = text.split(',').map(str::trim);
    let mut variables = vec![("TIDEWIRE_LOCALITY".to_owned(), words.next().unwrap_or_default().to_owned())];
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, "on"));
        if !matches!(name, "key" | "batch" | "timeout" | "thread") {
            let message = format!("--locality: unknown setting '{name}'; expected key, batch, timeout or thread");
            return Err(CliError::Usage(message));
        }
        variables.push((format!("TIDEWIRE_LOCALITY_{}", name.to_ascii_uppercase()), value.to_owned()));
    }
    Ok(variables)
}

/// A group that no packet socket of this network namespace has joined, on any interface. If the kernel does not report them,
/// one derived from the process id: two runs rarely have the same.
fn free_group() -> u8 {
    let used = groups_in_use().unwrap_or_default();
    let first = std::process::id() as u8;
    let mut groups = (0..=u8::MAX).map(|step| first.wrapping_add(step));
    // In the kernel the upper bits of a group's number are that of the interface.
    groups.find(|group| used.iter().all(|number| number.to_le_bytes().first() != Some(group))).unwrap_or(first)
}
