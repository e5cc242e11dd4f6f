use std::{os::fd::AsFd, process::Command, thread};

use tidewire_testing::InTime as _;

use super::*;
use crate::sys::net::own_namespace;

/// `r0 = number; exit`
fn returns(number: i32) -> Vec<u8> {
    let [a, b, c, d] = number.to_ne_bytes();
    vec![0xb7, 0, 0, 0, a, b, c, d, 0x95, 0, 0, 0, 0, 0, 0, 0]
}

/// Whether bpf(2) is allowed here; else the tests have nothing to do.
fn allowed() -> bool {
    let map = Map::new(ARRAY, 4, 8, 1);
    if let Err(error) = &map {
        println!("skipped: bpf(2) is not allowed here ({error}); needs CAP_BPF and CAP_NET_ADMIN");
    }
    map.is_ok()
}

#[test]
fn keys_come_and_go() {
    if !allowed() {
        return;
    }
    let map = Map::new(HASH, 4, 8, 2).unwrap();
    assert_eq!(map.lookup(&[1, 2, 3, 4]).unwrap(), None);
    map.update(&[1, 2, 3, 4], &[7; 8], 1).unwrap();
    assert_eq!(map.update(&[1, 2, 3, 4], &[8; 8], 1).unwrap_err().raw_os_error(), Some(libc::EEXIST));
    map.update(&[0; 4], &[9; 8], 0).unwrap();
    assert_eq!(map.update(&[9; 4], &[9; 8], 0).unwrap_err().raw_os_error(), Some(libc::E2BIG), "a third of two");
    let again = Map::from_descriptor(map.as_fd()).unwrap();
    assert_eq!((again.value_bytes(), again.entries()), (8, 2));
    assert_eq!(again.lookup(&[1, 2, 3, 4]).unwrap(), Some(vec![7; 8]));
    let mut keys = Vec::new();
    while let Some(key) = map.next_key(keys.last().map(Vec::as_slice)).unwrap() {
        keys.push(key);
    }
    keys.sort();
    assert_eq!(keys, [vec![0; 4], vec![1, 2, 3, 4]]);
    assert!(map.delete(&[0; 4]).unwrap());
    assert!(!map.delete(&[0; 4]).unwrap());
    assert!(map.lookup(&[0; 3]).is_err(), "a key of another length is not handed to the kernel");
    assert!(map.update(&[0; 4], &[0; 7], 0).is_err());
}

#[test]
fn a_value_for_each_processor() {
    if !allowed() {
        return;
    }
    let map = Map::new(PERCPU_ARRAY, 4, 4, 3).unwrap();
    assert_eq!(map.lookup(&[2, 0, 0, 0]).unwrap(), Some(vec![0; 8 * possible_cpus().unwrap()]));
    assert_eq!(map.lookup(&[3, 0, 0, 0]).unwrap(), None);
}

#[test]
fn a_refused_program_shows_the_verifier_s_last_lines() {
    if !allowed() {
        return;
    }
    let error = Program::load(XDP, &returns(1)[8..]).expect_err("r0 is not set").to_string();
    assert!(error.contains("R0 !read_ok"), "{error}");
}

#[test]
fn an_attachment_goes_away_with_its_link() {
    let run = || {
        let attached = || {
            let output = Command::new("ip").args(["-d", "link", "show", "tw1"]).run_in_time().unwrap();
            String::from_utf8_lossy(&output.stdout).contains("prog/xdp")
        };
        let drops = Program::load_with(XDP, &returns(1), Load { frags: true, attach: 0 }).unwrap();
        assert_eq!(drops.run(&[0; 60]).unwrap(), 1);
        let index = std::fs::read_to_string("/sys/class/net/lo/ifindex").unwrap().trim().parse().unwrap();
        let error = Link::xdp(drops.as_fd(), index, XdpMode::Native).expect_err("the loopback interface has none");
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        assert!(
            Command::new("ip")
                .args(["link", "add", "tw0", "type", "veth", "peer", "tw1"])
                .status_in_time()
                .unwrap()
                .success()
        );
        // The file system still shows the namespace that it was mounted in.
        let links = Command::new("ip").args(["-o", "link", "show", "tw1"]).run_in_time().unwrap();
        let index = String::from_utf8_lossy(&links.stdout).split(':').next().unwrap().trim().parse().unwrap();
        for mode in [XdpMode::Native, XdpMode::Generic] {
            let link = Link::xdp(drops.as_fd(), index, mode).unwrap();
            assert!(attached());
            let error = Link::xdp(drops.as_fd(), index, mode).expect_err("it has one");
            assert_eq!(error.raw_os_error(), Some(libc::EBUSY));
            drop(link);
            assert!(!attached());
        }
    };
    let result = thread::spawn(move || {
        tidewire_testing::privileged(own_namespace).map(|()| {
            if allowed() {
                run()
            }
        })
    })
    .join();
    match result {
        Ok(Ok(())) => {}
        Ok(Err(error)) => println!("skipped: no network namespace of our own: {error}"),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[test]
fn a_load_that_signals_interrupt_is_repeated_within_bounds() {
    let attempts = |interruptions: usize, error: i32| {
        let mut attempt = 0;
        let result = super::load_despite_signals(|| {
            attempt += 1;
            if attempt > interruptions { Ok(()) } else { Err(std::io::Error::from_raw_os_error(error)) }
        });
        (attempt, result.map_err(|error| error.raw_os_error().unwrap()))
    };
    assert_eq!(attempts(0, libc::EAGAIN), (1, Ok(())));
    assert_eq!(attempts(9, libc::EAGAIN), (10, Ok(())));
    assert_eq!(attempts(10, libc::EAGAIN), (10, Err(libc::EAGAIN)));
    assert_eq!(attempts(1, libc::EINVAL), (1, Err(libc::EINVAL)));
}
