//! Sockets that frames come from send none: a filter of seccomp(2) by their descriptors' numbers.
//!
//! The kernel lets every holder of a packet socket send frames through it, without checking a capability again, and has no way
//! to take that right from the socket (`shutdown(2)` is not possible). So the calls by which bytes get into a socket fail for
//! these numbers, and so do those that would give the same socket another number. What would pass a descriptor through another
//! socket (`sendmsg`) is not allowed, or receiving one is not (`system_calls.rs`).

use std::{fs, os::fd::RawFd};

use seccompiler::{BpfProgram, sock_filter};

use crate::sys::net::socket_family;

/// Calls whose first argument is the descriptor that is written to, or that is given another number.
const CALLS: &[libc::c_long] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_dup,
    libc::SYS_dup3,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
];

/// Commands of fcntl(2) that give another number.
const DUPLICATIONS: &[libc::c_int] = &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC];

/// Families whose sockets frames come from.
const FAMILIES: &[libc::c_int] = &[libc::AF_PACKET, libc::AF_XDP];

/// Where `struct seccomp_data` (linux/seccomp.h) has the call's number.
const NUMBER_AT: u32 = 0;

/// Where it has the lower half of an argument: descriptors and commands are 32 bits wide.
const fn argument_at(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// Numbers of this process's sockets that frames come from.
pub(super) fn capturing() -> Result<Vec<RawFd>, String> {
    let entries = fs::read_dir("/proc/self/fd").map_err(|error| format!("/proc/self/fd: {error}"))?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.filter(|number| socket_family(*number).is_ok_and(|family| FAMILIES.contains(&family))).collect())
}

/// A program under which nothing is sent through these descriptors.
pub(super) fn program(descriptors: &[RawFd]) -> BpfProgram {
    let load = |k: u32| sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k };
    let end = |k: u32| sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let equal =
        |k: u32, jt: u8, jf: u8| sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt, jf, k };
    let (allow, refuse) = (end(libc::SECCOMP_RET_ALLOW), end(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    // fcntl(2): the command is looked at first, then the descriptor.
    let duplications = DUPLICATIONS.len() as u8;
    let mut program = vec![load(NUMBER_AT), equal(libc::SYS_fcntl as u32, 0, duplications + 2), load(argument_at(1))];
    let calls = CALLS.len() as u8;
    // From each command over the other ones, the allowance, and the calls.
    program
        .extend((0..).zip(DUPLICATIONS).map(|(at, command)| equal(*command as u32, duplications - at + calls + 1, 0)));
    program.push(allow.clone());
    program.extend((0..).zip(CALLS).map(|(at, call)| equal(*call as u32, calls - at, 0)));
    program.push(allow.clone());
    program.push(load(argument_at(0)));
    for descriptor in descriptors {
        program.push(equal(descriptor.cast_unsigned(), 0, 1));
        program.push(refuse.clone());
    }
    program.push(allow);
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program on a call with these arguments: whether it is allowed.
    fn allows(program: &[sock_filter], call: libc::c_long, arguments: [u64; 2]) -> bool {
        let mut data = [0_u8; 64];
        data[..4].copy_from_slice(&(call as u32).to_ne_bytes());
        for (index, argument) in arguments.into_iter().enumerate() {
            data[16 + 8 * index..][..8].copy_from_slice(&argument.to_ne_bytes());
        }
        let (mut at, mut value) = (0, 0);
        loop {
            let one = &program[at];
            at += 1;
            match u32::from(one.code) {
                0x20 => value = u32::from_ne_bytes(data[one.k as usize..][..4].try_into().unwrap()),
                0x15 => at += usize::from(if value == one.k { one.jt } else { one.jf }),
                0x06 => return one.k == libc::SECCOMP_RET_ALLOW,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn only_these_descriptors_are_closed_to_sending() {
        let many: Vec<RawFd> = (10..1000).step_by(3).collect();
        let program = program(&many);
        assert!(program.len() < 4096, "BPF_MAXINSNS");
        for descriptor in 0..1100_u64 {
            let is_closed = many.contains(&(descriptor as RawFd));
            // The kernel looks at the lower half only.
            for descriptor in [descriptor, descriptor | 7 << 32] {
                for call in CALLS {
                    assert_eq!(allows(&program, *call, [descriptor, 0]), !is_closed, "{call} {descriptor}");
                }
                for command in DUPLICATIONS {
                    let allowed = allows(&program, libc::SYS_fcntl, [descriptor, *command as u64]);
                    assert_eq!(allowed, !is_closed, "{command} {descriptor}");
                }
                assert!(allows(&program, libc::SYS_fcntl, [descriptor, libc::F_GETFL as u64]));
                assert!(allows(&program, libc::SYS_read, [descriptor, 0]));
                assert!(allows(&program, libc::SYS_recvfrom, [descriptor, 0]));
            }
        }
    }
}
