use std::{fs, io, process::Command, thread};

use crate::Error;
use tidewire_live::{
    Interface,
    sys::{
        ethtool::{Feature, set_feature},
        namespace::Sysfs,
        net::own_namespace,
    },
};

/// The beginning of the alias of interfaces made here, which identifies them.
pub const ALIAS: &str = "tidewire-lab";

/// Whether an interface was made here: a veth with that alias.
#[must_use]
pub fn is_ours(interface: &Interface) -> bool {
    interface.kind == "veth" && interface.alias.starts_with(ALIAS)
}

/// Properties of the veth pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of veth pairs. Pair `i` runs from `txi` to `rxi`. Default 1.
    pub cables: u32,
    /// Queues of every interface, each way. Default 1.
    pub queues: u32,
    /// Largest packet. Default 1,500.
    pub mtu: u32,
    /// Generic receive offload at the receiving ends. Default on: without it, and without an XDP program, a veth has no
    /// NAPI and loses redirected frames.
    pub gro: bool,
    /// Threaded NAPI at the receiving ends. Default off: then the sender's core does the receiver's work.
    pub threaded: bool,
    /// Checksum and segmentation offload to the other end, the default of a veth. Default off: frames are as on a wire.
    pub offload: bool,
    /// Addresses for real programs: `10.77.i.1/24` and `fd77::i:1/112` at the sending end, `.2` and `:2` at the receiving
    /// one. Default none; then the ends send nothing unsolicited.
    pub addresses: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { cables: 1, queues: 1, mtu: 1500, gro: true, threaded: false, offload: false, addresses: false }
    }
}

/// A veth pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The sending end.
    pub tx: String,
    /// The receiving end.
    pub rx: String,
}

impl Cable {
    pub(super) fn number(index: u32) -> Self {
        Self { tx: format!("tx{index}"), rx: format!("rx{index}") }
    }
}

impl Layout {
    /// Checks the settings.
    pub(super) fn check(&self) -> Result<(), Error> {
        let within = |what: &str, value: u32, least: u32, most: u32| {
            let text = || Error::Setting(format!("{what} must be {least} to {most}, got {value}"));
            (least..=most).contains(&value).then_some(()).ok_or_else(text)
        };
        within("cables", self.cables, 1, 64)?;
        within("queues", self.queues, 1, 64)?;
        within("MTU", self.mtu, if self.addresses { 1280 } else { 68 }, 65_535)
    }

    /// The names of the veth pairs.
    pub(super) fn names(&self) -> Vec<Cable> {
        (0..self.cables).map(Cable::number).collect()
    }

    /// Creates the veth pairs in the calling thread's namespace; `peer`: the namespace of the receiving ends, as `ip link` names it.
    pub(super) fn make(&self, peer: Option<&str>) -> Result<(), Error> {
        let queues = self.queues;
        for Cable { tx, rx } in self.names() {
            let peer = peer.map_or_else(String::new, |peer| format!(" netns {peer}"));
            let each = format!("numtxqueues {queues} numrxqueues {queues}");
            ip(&format!("link add {tx} {each} type veth peer name {rx} {each}{peer}"))?;
        }
        Ok(())
    }

    /// Sets up the ends that are in the calling thread's namespace.
    pub(super) fn set_up(&self, is_receiver: bool) -> Result<(), Error> {
        // Absent if IPv6 is disabled.
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
        if is_receiver && self.addresses {
            ip("link set lo up")?;
        }
        for (index, cable) in self.names().into_iter().enumerate() {
            let (name, end) = if is_receiver { (cable.rx, 2) } else { (cable.tx, 1) };
            ip(&format!("link set {name} mtu {} alias {ALIAS} addrgenmode none", self.mtu))?;
            if !self.addresses {
                ip(&format!("link set {name} arp off multicast off"))?;
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
            }
            self.switch(&name, is_receiver)?;
            ip(&format!("link set {name} up"))?;
            if self.addresses {
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/accept_dad"), "0");
                ip(&format!("addr add 10.77.{index}.{end}/24 dev {name}"))?;
                ip(&format!("addr add fd77::{index:x}:{end}/112 dev {name}"))?;
            }
            if is_receiver && self.threaded {
                thread_napi(&name)?;
            }
        }
        Ok(())
    }

    fn switch(&self, name: &str, is_receiver: bool) -> Result<(), Error> {
        let mut features = vec![(Feature::Gro, self.gro && (is_receiver || self.addresses))];
        if !self.offload {
            features.extend([(Feature::Tso, false), (Feature::Gso, false), (Feature::TxChecksum, false)]);
        }
        for (feature, on) in features {
            let what = || format!("{name}: turning {feature:?} {}", if on { "on" } else { "off" });
            set_feature(name, feature, on).map_err(|source| kernel(what(), source))?;
        }
        Ok(())
    }
}

fn thread_napi(name: &str) -> Result<(), Error> {
    let what = || format!("{name}: threaded NAPI");
    let sysfs = Sysfs::mount().map_err(|source| kernel(what(), source))?;
    fs::write(sysfs.path(&format!("class/net/{name}/threaded")), "1").map_err(|source| kernel(what(), source))
}

/// Waits until links have a carrier: the kernel may report one up to a second late (`net/core/link_watch.c`), and later where
/// many links come and go at once.
pub(super) fn wait_for_carrier(names: &[String]) -> Result<(), Error> {
    for _ in 0..2_000 {
        let carries = |name: &String| Interface::find(name).map(|interface| interface.running);
        if names.iter().map(carries).collect::<Result<Vec<_>, _>>()?.into_iter().all(|carries| carries) {
            return Ok(());
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
    Err(Error::Interface { interface: names.join(", "), what: "did not come up within ten seconds".into() })
}

pub(super) fn kernel(what: String, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::PermissionDenied {
        return Error::privilege(what, "cap_net_admin,cap_sys_admin");
    }
    Error::System { what, source, hint: String::new() }
}

/// Runs `ip` in the calling thread's namespace.
pub(super) fn ip(arguments: &str) -> Result<String, Error> {
    let what = || format!("ip {arguments}");
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            Error::System { what: "running 'ip'".into(), source, hint: "; install iproute2".into() }
        }
        _ => kernel(what(), source),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    if said.contains("not permitted") {
        return Err(Error::privilege(what(), "cap_net_admin,cap_sys_admin"));
    }
    Err(Error::System { what: what(), source: io::Error::other(said), hint: String::new() })
}

/// Why networks cannot be built here, if so: tests print it and pass.
#[must_use]
pub fn missing() -> Option<String> {
    if let Err(error) = Command::new("ip").arg("-V").output() {
        return Some(format!("no `ip` command: {error}"));
    }
    // Root of a user namespace may build a network, but may not load the kernel programs that send over it.
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !users.split_whitespace().eq(["0", "0", "4294967295"]) {
        return Some("root of a user namespace (a user's container), without privileges over the machine".into());
    }
    match thread::spawn(own_namespace).join() {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("no network namespace of our own: {error}")),
        Err(_) => Some("no thread".into()),
    }
}
