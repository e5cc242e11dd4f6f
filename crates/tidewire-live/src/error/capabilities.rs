//! How to grant capabilities: complete commands, to be followed literally.

use std::{collections::BTreeSet, fs, path::PathBuf};

/// All that capturing may need: `setcap` replaces what a file has, so that a part of it would take the rest away.
const CAPTURING: &str = "cap_bpf,cap_ipc_lock,cap_net_admin,cap_net_raw,cap_perfmon";

/// Names of capabilities by number (linux/capability.h).
const NAMES: [&str; 41] = [
    "cap_chown",
    "cap_dac_override",
    "cap_dac_read_search",
    "cap_fowner",
    "cap_fsetid",
    "cap_kill",
    "cap_setgid",
    "cap_setuid",
    "cap_setpcap",
    "cap_linux_immutable",
    "cap_net_bind_service",
    "cap_net_broadcast",
    "cap_net_admin",
    "cap_net_raw",
    "cap_ipc_lock",
    "cap_ipc_owner",
    "cap_sys_module",
    "cap_sys_rawio",
    "cap_sys_chroot",
    "cap_sys_ptrace",
    "cap_sys_pacct",
    "cap_sys_admin",
    "cap_sys_boot",
    "cap_sys_nice",
    "cap_sys_resource",
    "cap_sys_time",
    "cap_sys_tty_config",
    "cap_mknod",
    "cap_lease",
    "cap_audit_write",
    "cap_audit_control",
    "cap_setfcap",
    "cap_mac_override",
    "cap_mac_admin",
    "cap_syslog",
    "cap_wake_alarm",
    "cap_block_suspend",
    "cap_audit_read",
    "cap_perfmon",
    "cap_bpf",
    "cap_checkpoint_restore",
];

/// The permitted capabilities of the process, as the file it was started from grants them.
fn permitted() -> Vec<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    NAMES.into_iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name).collect()
}

/// The set to grant: what is needed, what else capturing may need, and what was there.
fn whole_set(needed: &str, permitted: &[&str]) -> String {
    let all = needed.split(',').chain(CAPTURING.split(',')).chain(permitted.iter().copied());
    all.map(str::trim)
        .filter(|name| !name.is_empty())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join(",")
}

/// Advice for a program that lacks capabilities, with the command that grants them.
pub(super) fn how_to_grant(needed: &str) -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let program =
        own.unwrap_or_else(|_| PathBuf::from(std::env::args_os().next().unwrap_or_else(|| "tidewire".into())));
    let set = whole_set(needed, &permitted());
    let without = if needed.contains("cap_perfmon") {
        "; without them packet sockets capture, without a steering program"
    } else if needed == "cap_net_raw" {
        "; capture files need none"
    } else {
        ""
    };
    format!("run it as root, or once: sudo setcap {set}+ep {}{without}", program.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_takes_nothing_away_and_is_enough() {
        let all = "cap_bpf,cap_ipc_lock,cap_net_admin,cap_net_raw,cap_perfmon";
        assert_eq!(whole_set("cap_net_raw", &[]), all);
        assert_eq!(whole_set("cap_net_admin,cap_bpf", &["cap_net_raw"]), all);
        assert_eq!(whole_set("cap_net_raw", &["cap_kill"]), format!("{},cap_kill,{}", &all[..20], &all[21..]));
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let text = how_to_grant("cap_net_raw");
        assert!(text.contains(&format!("+ep {}; capture files need none", own.display())), "{text}");
        assert_eq!((NAMES[13], NAMES[39]), ("cap_net_raw", "cap_bpf"));
    }
}
