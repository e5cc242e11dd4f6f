//! Privileges of this process for tests of interfaces.

use std::{fs, io};

/// Enters a namespace by `own` if this is the host's root: root of a user namespace (a user's container) can create network
/// namespaces, but lacks privileges over the host, as for kernel programs and AF_XDP.
///
/// # Errors
/// The missing privilege.
pub fn privileged(own: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if is_whole(&map) {
        return own();
    }
    Err(io::Error::other("root of a user namespace (a user's container), without privileges over the machine"))
}

/// Whether all user ids are the host's, as outside of user namespaces (user_namespaces(7)).
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_containers_differ_from_the_machines() {
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n") && !is_whole("0 100000 65536\n") && !is_whole(""));
    }
}
