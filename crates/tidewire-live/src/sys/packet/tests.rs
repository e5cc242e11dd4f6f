//! JUSTIFICATION: a tunnel's far end is opened by `ioctl(2)`, which has no wrapper in the standard library.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    mem::zeroed,
    os::fd::AsRawFd,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tidewire_testing::InTime as _;

use crate::{
    Interface, LiveSettings, Ring, Worker,
    packet::{Filters, Plan},
    sys::{arena::Arena, net::own_namespace},
};
use tidewire_wire::LinkType;

const NAME: &str = "tun0";
/// `TUNSETIFF`, `IFF_TUN | IFF_NO_PI` (include/uapi/linux/if_tun.h)
const SET_INTERFACE: libc::c_ulong = 0x4004_54ca;
const TUN: libc::c_short = 0x1001;

/// Opens a TUN device: packets written to it arrive at the interface. It goes away with it.
fn tunnel() -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: the structure is plain integers and a pointer, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = TUN;
    // SAFETY: the structure lives throughout the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), SET_INTERFACE as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(file) }
}

/// A packet of protocol 253 (RFC 3692), which no host answers; `flow` is in its source.
fn packet(flow: u8, number: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, number, 0, 0, 64, 253, 0, 0, 10, 3, 0, flow, 10, 3, 1, 1];
    packet.resize(40, number);
    packet
}

fn run() {
    let Ok(()) = tidewire_testing::privileged(own_namespace)
        .inspect_err(|error| println!("skipped: no network namespace: {error}"))
    else {
        return;
    };
    let Ok(mut tunnel) = tunnel().inspect_err(|error| println!("skipped: no tunnel: {error}")) else { return };
    let status = Command::new("ip").args(["link", "set", NAME, "addrgenmode", "none", "up"]).status_in_time();
    assert!(status.is_ok_and(|status| status.success()));
    for workers in [1, 2] {
        let settings = LiveSettings { workers, ring_bytes: 4 << 20, ..LiveSettings::new([NAME]) };
        let plan = Plan::new(&settings).unwrap();
        let arenas: Vec<_> = (0..workers).map(|_| Arena::reserve(plan.place_bytes()).unwrap()).collect();
        let places = arenas.iter().map(|arena| vec![arena.take(plan.place_bytes()).unwrap()]).collect();
        let group = plan.open(&Interface::find(NAME).unwrap(), 0, &Filters::default(), places).unwrap();
        let mut workers: Vec<_> = arenas
            .into_iter()
            .zip(group.rings)
            .map(|(arena, rings)| {
                let rings = rings.into_iter().map(|ring| Box::new(ring) as Box<dyn Ring>).collect();
                Worker::new(arena, rings, (0, 1), Duration::ZERO)
            })
            .collect();
        let sent: Vec<_> = (0..100).map(|number| packet(number % 20, number)).collect();
        sent.iter().for_each(|packet| tunnel.write_all(packet).unwrap());
        let (mut got, start) = (vec![Vec::new(); workers.len()], Instant::now());
        while got.iter().map(Vec::len).sum::<usize>() < sent.len() && start.elapsed() < Duration::from_secs(20) {
            for (worker, got) in workers.iter_mut().zip(&mut got) {
                worker.poll(Duration::from_millis(1), |batch| {
                    assert!(batch.frames.iter().all(|frame| frame.link == LinkType::RAW));
                    got.extend(batch.frames.iter().map(|frame| batch.bytes(frame).to_vec()));
                });
            }
        }
        // A flow's packets went to one worker.
        for flow in 0..20 {
            assert_eq!(got.iter().filter(|mine| mine.iter().any(|packet| packet[15] == flow)).count(), 1);
        }
        let mut got = got.concat();
        got.sort_by_key(|packet| packet[5]);
        assert_eq!(got, sent);
    }
}

#[test]
fn packets_of_a_tunnel_begin_with_their_ip_header() {
    if let Err(panic) = thread::spawn(run).join() {
        std::panic::resume_unwind(panic);
    }
}
