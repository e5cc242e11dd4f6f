//! Requests about interfaces.
//!
//! JUSTIFICATION: netdevice(7)'s and ethtool's requests have no wrapper in the standard library.

use std::{
    io,
    mem::zeroed,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// `ETHTOOL_GDRVINFO` (include/uapi/linux/ethtool.h).
const DRIVER: u32 = 3;
/// `ETHTOOL_GCHANNELS`.
const CHANNELS: u32 = 0x3c;
/// Bytes of `struct ethtool_rxnfc` without a list of places.
pub const RULE_BYTES: usize = 192;
/// Where `struct ethtool_drvinfo` has the driver's name, and its lengths.
const DRIVER_NAME: std::ops::Range<usize> = 4..36;
const DRIVER_BYTES: usize = 196;
/// `struct ethtool_channels`: a command, four greatest numbers, four current ones: receive, send, other, combined.
const CHANNELS_BYTES: usize = 36;

/// A socket for requests about interfaces (netdevice(7), ethtool), in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct DeviceSocket(OwnedFd);

impl DeviceSocket {
    /// Opens one.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        Ok(Self(socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?))
    }

    /// The name of an interface's driver, where it says one.
    #[must_use]
    pub fn driver(&self, interface: &str) -> Option<String> {
        let answer = self.ethtool::<DRIVER_BYTES>(interface, DRIVER)?;
        let name = answer.get(DRIVER_NAME)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty())
    }

    /// Whether the card takes VLAN tags out of frames that arrive, where its driver says.
    #[must_use]
    pub fn takes_tags_out(&self, interface: &str) -> Option<bool> {
        /// `ETHTOOL_GFLAGS`, and in its answer `ETH_FLAG_RXVLAN`.
        const FLAGS: u32 = 0x25;
        const RX_VLAN: u32 = 1 << 8;
        let answer = self.ethtool::<8>(interface, FLAGS)?;
        Some(u32::from_ne_bytes(*answer.last_chunk()?) & RX_VLAN != 0)
    }

    /// Whether frames of an interface may be longer than its MTU says, because cards or the kernel put segments together or
    /// take them apart; `None` where its driver says nothing.
    #[must_use]
    pub fn joins_segments(&self, interface: &str) -> Option<bool> {
        /// `ETHTOOL_GTSO`, `…_GUFO`, `…_GGSO`, `…_GGRO`
        const SWITCHES: [u32; 4] = [0x1e, 0x21, 0x23, 0x2b];
        /// `ETHTOOL_GFLAGS`, and in its answer `ETH_FLAG_LRO`.
        const FLAGS: u32 = 0x25;
        const LRO: u32 = 1 << 15;
        let ask = |command| Some(u32::from_ne_bytes(*self.ethtool::<8>(interface, command)?.last_chunk()?));
        let switches = SWITCHES.into_iter().filter_map(ask).map(|on| on != 0);
        let flags = ask(FLAGS).map(|flags| flags & LRO != 0);
        switches.chain(flags).reduce(|one, other| one || other)
    }

    /// Which time stamps a card gives (`SOF_TIMESTAMPING_…`), and for which frames that arrive (bits of `HWTSTAMP_FILTER_…`),
    /// where its driver says.
    #[must_use]
    pub fn stamps(&self, interface: &str) -> Option<(u32, u32)> {
        /// `ETHTOOL_GET_TS_INFO`: a command, what can be stamped, a clock's number, kinds sent, kinds received.
        const STAMPS: u32 = 0x41;
        let answer = self.ethtool::<44>(interface, STAMPS)?;
        let number = |at: usize| Some(u32::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
        Some((number(4)?, number(28)?))
    }

    /// Has a card stamp all frames that arrive; what it does with those that leave stays.
    ///
    /// # Errors
    /// What the driver says: `ERANGE` or `EOPNOTSUPP` where it cannot, `EPERM` without CAP_NET_ADMIN.
    pub fn stamp_all(&self, interface: &str) -> io::Result<()> {
        /// `SIOCSHWTSTAMP`, `SIOCGHWTSTAMP`
        const SET: libc::c_ulong = 0x89b0;
        const GET: libc::c_ulong = 0x89b1;
        /// `HWTSTAMP_FILTER_ALL`
        const ALL: i32 = 1;
        // struct hwtstamp_config: flags, frames that leave, frames that arrive.
        let mut config = [0_i32; 3];
        let mut about = named(interface).ok_or(io::ErrorKind::InvalidInput)?;
        about.ifr_ifru.ifru_data = config.as_mut_ptr().cast();
        // Drivers that do not report their settings do not have to keep them.
        if self.ask(GET as _, &mut about).is_err() {
            config = [0; 3];
        }
        let [_, _, arriving] = &mut config;
        if *arriving == ALL {
            return Ok(());
        }
        *arriving = ALL;
        about.ifr_ifru.ifru_data = config.as_mut_ptr().cast();
        self.ask(SET as _, &mut about)
    }

    /// How many receive queues an interface uses, where its driver says.
    #[must_use]
    pub fn receive_queues(&self, interface: &str) -> Option<u32> {
        let answer = self.ethtool::<CHANNELS_BYTES>(interface, CHANNELS)?;
        let number = |at: usize| Some(u32::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
        Some(number(20)?.saturating_add(number(32)?)).filter(|queues| *queues > 0)
    }

    /// Sets how many receive and combined channels an interface has (`ETHTOOL_SCHANNELS`); `None` leaves them.
    ///
    /// # Errors
    /// What the driver says: it has fewer, or cannot change them.
    pub fn set_channels(&self, interface: &str, receive: Option<u32>, combined: Option<u32>) -> io::Result<()> {
        const SET_CHANNELS: u32 = 0x3d;
        let now = self.ethtool::<CHANNELS_BYTES>(interface, CHANNELS);
        let mut wanted = now.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
        for (at, number) in [(0, Some(SET_CHANNELS)), (20, receive), (32, combined)] {
            let place = wanted.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>);
            if let (Some(place), Some(number)) = (place, number) {
                *place = number.to_ne_bytes();
            }
        }
        let mut request = named(interface).ok_or(io::ErrorKind::InvalidInput)?;
        request.ifr_ifru.ifru_data = wanted.as_mut_ptr().cast();
        self.ask(libc::SIOCETHTOOL as _, &mut request)
    }

    /// Asks for, sets or deletes one of an interface's rules for what it receives (`struct ethtool_rxnfc`).
    ///
    /// # Errors
    /// What the driver says; the request is another one.
    pub fn receive_rules(&self, interface: &str, request: &mut [u8; RULE_BYTES]) -> io::Result<()> {
        /// `ETHTOOL_GRXCLSRLCNT`, `ETHTOOL_GRXCLSRULE`, `ETHTOOL_SRXCLSRLDEL`, `ETHTOOL_SRXCLSRLINS`: the answer is as long
        /// as the request.
        const COMMANDS: [u32; 4] = [0x2e, 0x2f, 0x31, 0x32];
        let command = request.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        if !command.is_some_and(|command| COMMANDS.contains(&command)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut about = named(interface).ok_or(io::ErrorKind::InvalidInput)?;
        about.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
        self.ask(libc::SIOCETHTOOL as _, &mut about)
    }

    /// The number of the interface of this name, where there is one.
    #[must_use]
    pub fn index(&self, interface: &str) -> Option<u32> {
        let mut request = named(interface)?;
        self.ask(libc::SIOCGIFINDEX as _, &mut request).ok()?;
        // SAFETY: the request was answered with a number.
        u32::try_from(unsafe { request.ifr_ifru.ifru_ifindex }).ok()
    }

    /// The kind of hardware (`ARPHRD_…`) of the interface of this name, where there is one.
    #[must_use]
    pub fn hardware(&self, interface: &str) -> Option<u16> {
        let mut request = named(interface)?;
        self.ask(libc::SIOCGIFHWADDR as _, &mut request).ok()?;
        // SAFETY: the request was answered with an address.
        Some(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
    }

    /// Whether the interface of this number is switched on (`IFF_UP`); `None` where there is none.
    #[must_use]
    pub fn is_up(&self, index: u32) -> Option<bool> {
        // SAFETY: the structure is plain integers and a pointer, for which zeroes are valid.
        let mut request: libc::ifreq = unsafe { zeroed() };
        request.ifr_ifru.ifru_ifindex = index.try_into().ok()?;
        self.ask(libc::SIOCGIFNAME as _, &mut request).ok()?;
        self.ask(libc::SIOCGIFFLAGS as _, &mut request).ok()?;
        // SAFETY: the request was answered with flags.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        Some(i32::from(flags) & libc::IFF_UP != 0)
    }

    fn ask(&self, request: libc::Ioctl, about: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the structure lives throughout the call, and what it points to as well.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), request, &raw mut *about) }).map(drop)
    }

    /// Asks for the structure that begins with this command.
    fn ethtool<const BYTES: usize>(&self, interface: &str, command: u32) -> Option<[u8; BYTES]> {
        let mut answer = [0_u8; BYTES];
        answer.first_chunk_mut::<4>()?.copy_from_slice(&command.to_ne_bytes());
        let mut request = named(interface)?;
        request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
        self.ask(libc::SIOCETHTOOL as _, &mut request).ok()?;
        Some(answer)
    }
}

/// A request about the interface of this name; `None` where no interface can have it.
fn named(interface: &str) -> Option<libc::ifreq> {
    // SAFETY: the structure is plain integers and a pointer, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Some(request)
}
