//! Whether this process has the privileges that tests of interfaces need.

use std::{fs, io};

/// Enters a namespace by `own`, where the machine's own root does it: that of a user namespace (a user's container) gets
/// network namespaces, and is refused what needs a privilege over the machine, as programs in the kernel and AF_XDP.
///
/// # Errors
/// Why not.
pub fn privileged(own: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if is_whole(&map) {
        return own();
    }
    Err(io::Error::other("root of a user namespace (a user's container), without privileges over the machine"))
}

/// Whether every user is the machine's own, as outside of user namespaces (user_namespaces(7)).
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_containers_are_told_from_the_machines() {
        assert!(is_whole("         0          0 4294967295\n"));
        assert!(!is_whole("         0       1000          1\n") && !is_whole("0 100000 65536\n") && !is_whole(""));
    }
}
