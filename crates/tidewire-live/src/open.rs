//! Opens captures: from settings to rings.

mod opening;
mod packet;
mod xdp;

use super::{Interface, Live, LiveEngine, LiveSettings, Role, any_limits, filter_spec::FilterSpec};
use crate::{Error, SettingError};

/// Interfaces of one capture, at most: what one worker can poll in turn without any of them waiting long.
const INTERFACES_MAX: usize = 64;

/// Opens a capture: rings, programs and sockets as `settings` say.
///
/// # Errors
/// The first problem found: an unknown interface, a missing capability, contradictory settings, a filter or a program that the
/// kernel refuses.
pub fn open(settings: &LiveSettings) -> Result<Live, Error> {
    let every = every_interface(settings)?;
    let follows = every.is_some();
    let settings = every.as_ref().unwrap_or(settings);
    let interfaces = interfaces(settings)?;
    FilterSpec::of(settings)?;
    crate::privilege::check(settings)?;
    match (settings.engine, settings.role) {
        (LiveEngine::Packet, _) => packet::open(settings, interfaces, "", follows),
        (LiveEngine::Auto, Role::Host) => {
            packet::open(settings, interfaces, "AF_XDP would divert host traffic", follows)
        }
        (LiveEngine::Auto, Role::Tap) => match xdp::open(settings, &interfaces) {
            Err(error) if !is_for_every_engine(&error) => {
                packet::open(settings, interfaces, &error.with_hint().to_string(), follows)
            }
            opened => opened,
        },
        (LiveEngine::Xdp | LiveEngine::XdpGeneric, _) => xdp::open(settings, &interfaces),
    }
}

/// Whether packet sockets would fail with this error of AF_XDP as well. They run filter programs that have no translation.
fn is_for_every_engine(error: &Error) -> bool {
    match error {
        Error::Filter(error) => !matches!(error, tidewire_filter::Error::Kernel(_)),
        error => matches!(error, Error::Steering(_)),
    }
}

/// `any`, where no interface is called so: every interface that is switched on now and whose frames can be captured, which share the
/// memory of one's ring.
fn every_interface(settings: &LiveSettings) -> Result<Option<LiveSettings>, Error> {
    if settings.interfaces != ["any"] {
        return Ok(None);
    }
    let all = Interface::all()?;
    if all.iter().any(|interface| interface.name == "any") {
        return Ok(None);
    }
    let is_captured = |interface: &Interface| interface.up && interface.link().is_ok();
    let up: Vec<String> = all.into_iter().filter(is_captured).map(|interface| interface.name).collect();
    if up.is_empty() {
        return Err(SettingError::NoInterfaceUp.into());
    }
    if up.len() > INTERFACES_MAX {
        return Err(SettingError::TooManyInterfaces { given: up.len(), limit: INTERFACES_MAX }.into());
    }
    let ring_bytes = (settings.ring_bytes / up.len()).max(any_limits::ANY_RING_BYTES_MIN.min(settings.ring_bytes));
    Ok(Some(LiveSettings { interfaces: up, ring_bytes, ..settings.clone() }))
}

fn interfaces(settings: &LiveSettings) -> Result<Vec<Interface>, Error> {
    let names = &settings.interfaces;
    if names.is_empty() {
        return Err(SettingError::NoInterfaces.into());
    }
    if names.len() > INTERFACES_MAX {
        return Err(SettingError::TooManyInterfaces { given: names.len(), limit: INTERFACES_MAX }.into());
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name))
    {
        return Err(SettingError::DuplicateInterface { interface: twice.1.clone() }.into());
    }
    names.iter().map(|name| Interface::find(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassicInstruction;
    use tidewire_filter::{FilterEnding, FilterHook};

    #[test]
    fn a_program_that_has_no_translation_for_xdp_is_left_to_packet_sockets() {
        let step = |code, k| ClassicInstruction { code, jump_true: 0, jump_false: 0, k };
        // The protocol (`SKF_AD_PROTOCOL`), which is known behind XDP only.
        let protocol = [step(0x20, 0xffff_f000), step(0x16, 0)];
        let ending = FilterEnding::Return { matched: 1, refused: 0 };
        let translated =
            |program: &[_]| tidewire_filter::translate(program, FilterHook::Xdp, ending).map_err(Error::from);
        assert!(!is_for_every_engine(&translated(&protocol).unwrap_err()));
        assert!(is_for_every_engine(&translated(&[]).unwrap_err()));
        let tags = SettingError::XdpLosesTags { interface: "eth0".into() };
        assert!(!is_for_every_engine(&tags.into()));
    }
}
