//! A network namespace with a cable, for tests of packet sockets and AF_XDP.

use std::{process::Command, thread};

use tidewire_live::{Interface, sys::net::own_namespace};
pub use tidewire_testing::PATIENCE;
use tidewire_testing::{InTime as _, missing, wait_until};

/// The end of the cable where frames are sent.
pub const NEAR: &str = "tw0";
/// The end of the cable where frames are captured.
pub const FAR: &str = "tw1";

pub fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).run_in_time().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs `work` in a network namespace that ends with it, or says why it cannot.
pub fn inside(work: impl FnOnce() + Send + 'static) {
    if let Some(reason) = missing(&["ip"]) {
        return println!("skipped: {reason}");
    }
    let thread = thread::spawn(|| match tidewire_testing::privileged(own_namespace) {
        Ok(()) => work(),
        Err(error) => println!("skipped: no network namespace for the test: {error}"),
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Makes a cable between two interfaces, which carries nothing but the test's frames.
pub fn cable_between(near: &str, far: &str, mtu: u32) {
    ip(&format!("link add {near} type veth peer name {far}"));
    for interface in [near, far] {
        ip(&format!("link set {interface} addrgenmode none mtu {mtu} up"));
    }
    // The near end is up before it has a carrier. Until the kernel's link watch has seen the carrier, its transmit queue is
    // `noop`, which drops frames without an error; the state is `UP` from then on.
    wait_until("a carrier", || {
        Interface::find(far).unwrap().carrier && ip(&format!("-o link show {near}")).contains("state UP")
    });
}
