//! Time stamps of cards (Documentation/networking/timestamping.rst).

use crate::{Error, LiveSettings, Stamp, sys::netlink::DeviceSocket};

/// `SOF_TIMESTAMPING_SYS_HARDWARE`, `SOF_TIMESTAMPING_RAW_HARDWARE`
const SYNCED: u32 = 1 << 5;
const RAW: u32 = 1 << 6;
/// Of the kinds of frames that are stamped: all (`HWTSTAMP_FILTER_ALL`).
const ALL: u32 = 1 << 1;

/// What sockets are told, after the card was told to stamp; `None`: nothing.
pub(super) fn source(settings: &LiveSettings) -> Result<Option<u32>, Error> {
    let source = match settings.stamp {
        Stamp::Host => return Ok(None),
        Stamp::Adapter => SYNCED,
        Stamp::AdapterUnsynced => RAW,
    };
    let [name] = &settings.interfaces[..] else {
        let what = "time stamps of cards are for one interface: frames of several could not be put in order by them";
        return Err(Error::Setting(what.into()));
    };
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Error::Privilege { what: format!("having {name} stamp frames"), capability: "cap_net_admin" }
        }
        _ => Error::Kernel { what: format!("{name}: having the card stamp frames"), source, hint: USE_HOST.into() },
    };
    let device = DeviceSocket::open().map_err(failed)?;
    let (given, frames) = device.stamps(name).unwrap_or_default();
    if given & source == 0 || frames & ALL == 0 {
        let kind = if source == SYNCED { "in the machine's time" } else { "of its own clock" };
        return Err(Error::Setting(format!("{name}: the card gives no time stamps {kind} to all frames{USE_HOST}")));
    }
    device.stamp_all(name).map_err(failed)?;
    Ok(Some(source))
}

const USE_HOST: &str = "; use the host's time stamps";
