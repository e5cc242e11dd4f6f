//! Landlock (landlock(7)): of the file system only what is named.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::connections::Connections;

/// The newest rights that are known here; a kernel that knows fewer restricts fewer.
const KNOWN: ABI = ABI::V6;

/// The kernel's list of processors: values of maps with one for each of them are read by their number.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The kernel's state of this process's threads: whether they wait for an output when it is to end.
const THREADS: &str = "/proc/self/task";

/// How far the kernel went along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restricted {
    Fully,
    /// Files, but not all rights, or not TCP.
    Partly,
    Not,
}

/// Restricts the calling thread, and all that it starts from now on, to `readable` and `writable` (with all that is below
/// them; what does not exist is left out). No TCP connection may be awaited, or made but to the ports of `connections`; no abstract
/// socket connected to.
pub(super) fn restrict<P: AsRef<Path>>(
    readable: &[P],
    writable: &[P],
    terminal: bool,
    connections: &Connections,
) -> Result<Restricted, String> {
    let said = |error: landlock::RulesetError| error.to_string();
    let (network, ports) = match connections {
        Connections::None => (AccessNet::from_all(KNOWN), &[][..]),
        Connections::To { ports: Some(ports), .. } => (AccessNet::from_all(KNOWN), &ports[..]),
        Connections::To { ports: None, .. } => (AccessNet::BindTcp.into(), &[][..]),
    };
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(|rules| rules.handle_access(network))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket))
        .and_then(Ruleset::create)
        .map_err(said)?;
    let reads = AccessFs::ReadFile | AccessFs::ReadDir;
    let writes = reads | (AccessFs::from_write(KNOWN) & !special());
    for path in readable.iter().map(AsRef::as_ref).chain([PROCESSORS, THREADS].map(Path::new)) {
        rules = allow(rules, path, reads)?;
    }
    for path in writable {
        rules = allow(rules, path.as_ref(), writes)?;
    }
    if terminal {
        rules = allow(rules, Path::new("/dev/tty"), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
    }
    for port in ports {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(said)?;
    }
    let status = rules.restrict_self().map_err(said)?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Restricted::Fully,
        RulesetStatus::PartiallyEnforced => Restricted::Partly,
        RulesetStatus::NotEnforced => Restricted::Not,
    })
}

/// Rights that writing files does not need: device nodes, sockets, pipes.
fn special() -> BitFlags<AccessFs> {
    AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock | AccessFs::MakeFifo | AccessFs::IoctlDev
}

fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, String> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    // A rule for a file takes no rights that only directories have.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(place, access)).map_err(|error| format!("{}: {error}", path.display()))
}
