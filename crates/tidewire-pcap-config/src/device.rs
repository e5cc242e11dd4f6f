//! Device names: several in one, virtual devices, an engine prefix.

use std::sync::Arc;

use tidewire_live::LiveEngine;

use super::{
    error::{Error, Source},
    text::{Text, suggestion},
};

/// Most devices in one name: as many as one capture can have.
const DEVICES_MAX: usize = 64;

/// A capture engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The system's libpcap.
    System,
    /// An engine of Tidewire.
    Live(LiveEngine),
}

/// Names of engines in variables and the file.
pub const ENGINES: &[(&str, Engine)] = &[
    ("system", Engine::System),
    ("packet", Engine::Live(LiveEngine::Packet)),
    ("xdp", Engine::Live(LiveEngine::Xdp)),
    ("xdp-generic", Engine::Live(LiveEngine::XdpGeneric)),
    ("auto", Engine::Live(LiveEngine::Auto)),
];

/// Engine prefixes of a name; `pfq:`, of the fan-out paper, selects any engine of Tidewire.
const PREFIXES: &[(&str, Engine)] = &[
    ("system:", Engine::System),
    ("packet:", Engine::Live(LiveEngine::Packet)),
    ("xdp-generic:", Engine::Live(LiveEngine::XdpGeneric)),
    ("xdp:", Engine::Live(LiveEngine::Xdp)),
    ("pfq:", Engine::Live(LiveEngine::Auto)),
];

/// One device of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// As written: `eth0:1`.
    pub given: String,
    /// The network interface: `eth0`.
    pub name: String,
    /// Whether the interface exists.
    pub exists: bool,
}

/// A parsed name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The engine prefix.
    pub engine: Option<Engine>,
    /// The name without the prefix.
    pub rest: String,
    /// Its devices; at least one.
    pub parts: Vec<Part>,
}

/// Parses a name. A device with exactly this name wins over every other reading.
pub fn parse(name: &str, exists: &dyn Fn(&str) -> bool) -> Result<Name, Error> {
    let one = |name: &str, exists| Part { given: name.into(), name: name.into(), exists };
    if exists(name) {
        return Ok(Name { engine: None, rest: name.into(), parts: vec![one(name, true)] });
    }
    let prefix = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
    let rest = prefix.map_or(name, |(prefix, _)| name.strip_prefix(prefix).unwrap_or(name));
    let engine = prefix.map(|(_, engine)| *engine);
    let before = name.chars().count() - rest.chars().count();
    let text = Text::new(Arc::new(Source::Device(name.into())), 1, before as u32 + 1, rest);
    if engine.is_some() && (rest.is_empty() || rest == "any") && engine != Some(Engine::System) {
        return Err(text.error("no interface after the engine", "name one or several, as in xdp:eth0^eth1"));
    }
    if exists(rest) || !rest.contains('^') {
        return Ok(Name { engine, rest: rest.into(), parts: vec![part(rest, exists)] });
    }
    let texts = text.split(&['^']);
    let parts: Vec<Part> = texts.iter().map(|text| part(&text.text, exists)).collect();
    if engine.is_none() && parts.iter().all(|part| !part.exists) {
        // A name for another capture system.
        return Ok(Name { engine, rest: rest.into(), parts: vec![one(rest, false)] });
    }
    for (at, (part, text)) in parts.iter().zip(&texts).enumerate() {
        if part.given.is_empty() {
            return Err(text.error("an interface is missing beside ^", "name one, as in eth0^eth1"));
        }
        if PREFIXES.iter().any(|(prefix, _)| part.given.starts_with(prefix)) && !part.exists {
            return Err(text.error("the engine stands before the second interface", "write it once, before all"));
        }
        if !part.exists {
            let message = format!("no network interface '{}'", text.shown());
            return Err(text.error(message, "see ip link"));
        }
        if parts.iter().take(at).any(|earlier| earlier.name == part.name) {
            return Err(text.error(format!("interface '{}' is named twice", part.name), "name it once"));
        }
    }
    if parts.len() > DEVICES_MAX {
        return Err(text.error(format!("{} interfaces in one name", parts.len()), format!("{DEVICES_MAX} at most")));
    }
    Ok(Name { engine, rest: rest.into(), parts })
}

/// Parses `eth0`, or the virtual device `eth0:1`.
fn part(given: &str, exists: &dyn Fn(&str) -> bool) -> Part {
    let whole = Part { given: given.into(), name: given.into(), exists: exists(given) };
    let Some((base, number)) = given.rsplit_once(':').filter(|_| !whole.exists) else { return whole };
    let is_number = !number.is_empty() && number.len() <= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && exists(base) { Part { name: base.into(), exists: true, ..whole } } else { whole }
}

/// A device name as part of a variable's name: characters that are not allowed there become underscores.
pub fn variable_name(device: &str) -> String {
    device.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The engine of this name.
pub fn engine(text: &Text) -> Result<Engine, Error> {
    let found = ENGINES.iter().find(|(name, _)| *name == text.text).map(|(_, engine)| *engine);
    found.ok_or_else(|| {
        let known: Vec<_> = ENGINES.iter().map(|(name, _)| *name).collect();
        let message = format!("unknown engine '{}'; expected {}", text.shown(), known.join(", "));
        text.error(message, suggestion(&text.text, known.iter().copied()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Result<Name, String> {
        let exists = |name: &str| ["eth0", "eth1", "wlan0:7", "a^b", "xdp:x"].contains(&name);
        parse(name, &exists).map_err(|error| error.to_string())
    }

    fn shape(name: &str) -> (Option<Engine>, Vec<(String, String, bool)>) {
        let name = read(name).unwrap();
        (name.engine, name.parts.into_iter().map(|part| (part.given, part.name, part.exists)).collect())
    }

    #[test]
    fn names_are_taken_apart() {
        let part = |given: &str, name: &str, exists| (given.to_owned(), name.to_owned(), exists);
        let xdp = Some(Engine::Live(LiveEngine::Xdp));
        let both = vec![part("eth0", "eth0", true), part("eth1:12", "eth1", true)];
        assert_eq!(shape("eth0^eth1:12"), (None, both.clone()));
        assert_eq!(shape("xdp:eth0^eth1:12"), (xdp, both.clone()));
        assert_eq!(shape("pfq:eth0^eth1:12"), (Some(Engine::Live(LiveEngine::Auto)), both));
        assert_eq!(shape("system:any"), (Some(Engine::System), vec![part("any", "any", false)]));
        for same in ["any", "eth9", "eth9:1", "usbmon0", "eth0:x", "eth0:", "bluetooth-monitor", "dag0^snf1", "", "^"] {
            assert_eq!(shape(same), (None, vec![part(same, same, false)]), "{same}");
        }
    }

    #[test]
    fn real_devices_win() {
        for (name, engine) in [("wlan0:7", None), ("a^b", None), ("xdp:x", None)] {
            let read = read(name).unwrap();
            assert_eq!((read.engine, read.parts[0].name.as_str(), read.parts.len()), (engine, name, 1));
        }
        assert_eq!(shape("xdp:a^b").1.len(), 1);
    }

    #[test]
    fn mistakes_have_their_place() {
        for (name, said) in [
            ("eth0^", "device eth0^, column 6: an interface is missing"),
            ("^eth0", "device ^eth0: an interface is missing"),
            ("eth0^eth9", "device eth0^eth9, column 6: no network interface 'eth9'"),
            ("eth0^xdp:eth1", "column 6: the engine stands before the second"),
            ("eth0^eth0:1", "column 6: interface 'eth0' is named twice"),
            ("xdp:", "no interface after the engine"),
            ("pfq:any", "no interface after the engine"),
        ] {
            let error = read(name).unwrap_err();
            assert!(error.contains(said), "{name}: {error}");
        }
    }
}
