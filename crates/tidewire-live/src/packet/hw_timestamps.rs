//! Time stamps of cards (Documentation/networking/timestamping.rst).

use crate::{Error, KernelError, LiveSettings, Operation, SettingError, TimestampSource, sys::netlink::DeviceSocket};

/// `SOF_TIMESTAMPING_SYS_HARDWARE`, `SOF_TIMESTAMPING_RAW_HARDWARE`
const SYNCED: u32 = 1 << 5;
const RAW: u32 = 1 << 6;
/// Of the kinds of frames that are stamped: all (`HWTSTAMP_FILTER_ALL`).
const ALL: u32 = 1 << 1;

/// Makes the card stamp frames, and returns the sockets' option; `None`: the machine stamps.
pub(super) fn source(settings: &LiveSettings) -> Result<Option<u32>, Error> {
    let source = match settings.stamp {
        TimestampSource::Host => return Ok(None),
        TimestampSource::Adapter => SYNCED,
        TimestampSource::AdapterUnsynced => RAW,
    };
    let [name] = &settings.interfaces[..] else {
        return Err(SettingError::StampInterfaces.into());
    };
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Error::privilege(format!("having {name} stamp frames"), "cap_net_admin")
        }
        _ => KernelError::new(Operation::HardwareTimestamps, format!("{name}: having the card stamp frames"), source)
            .into(),
    };
    let device = DeviceSocket::open().map_err(failed)?;
    let (given, frames) = device.stamps(name).unwrap_or_default();
    if given & source == 0 || frames & ALL == 0 {
        return Err(SettingError::StampUnsupported { interface: name.clone(), stamp: settings.stamp }.into());
    }
    device.stamp_all(name).map_err(failed)?;
    Ok(Some(source))
}
