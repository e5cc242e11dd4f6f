//! A program that runs with other rights than its caller's (set-user-ID), linked with the drop-in library: the caller's
//! environment and files decide nothing.

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use tidewire_testing::InTime as _;

/// A user who owns nothing.
const OTHER_USER: u32 = 65_534;

/// A program, or a library, of one of the sources in `tests/c`.
fn compiled(source: &str, to: &Path, more: &[&str]) {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut cc = Command::new("cc");
    let output = cc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(to).arg(source).args(more).run_in_time();
    let output = output.expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn may(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

#[test]
fn a_set_uid_program_ignores_its_caller_s_settings() {
    if let Some(reason) = tidewire_testing::missing(&["cc", "/usr/include/pcap/pcap.h"]) {
        return println!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    may(place, 0o755);
    let library = place.join("libpcap.so.0.8");
    fs::copy(crate::common::library(), &library).expect("a copy of the library");
    may(&library, 0o755);
    let (program, evil) = (place.join("program"), place.join("evil.so"));
    let (search, rpath) = (format!("-L{}", place.display()), format!("-Wl,-rpath,{}", place.display()));
    compiled("setuid.c", &program, &[&search, "-l:libpcap.so.0.8", &rpath, "-Wl,--disable-new-dtags"]);
    compiled("evil.c", &evil, &["-shared", "-fPIC"]);
    let wrong = place.join(".pcap.conf");
    fs::write(&wrong, "nonsense = 1\n").expect("a file");
    let [place, evil, wrong] = [place, &evil, &wrong].map(|path| path.to_str().expect("UTF-8").to_owned());
    let cases = [
        ("TIDEWIRE_LIBPCAP", evil.as_str(), "taken over"),
        ("TIDEWIRE_ENGINE", "nonsense", "nonsense"),
        ("PCAP_FANOUT", "nonsense", "nonsense"),
        ("PFQ_LANG_LIT", "nonsense", "nonsense"),
        ("TIDEWIRE_INSTANCE", "0", "go together"),
        ("PCAP_CONFIG", wrong.as_str(), "nonsense"),
        ("HOME", place.as_str(), "nonsense"),
    ];
    let run = |variable: &str, value: &str, user: u32| {
        let mut command = Command::new(&program);
        crate::common::Over::System.put_under(&mut command);
        let output = command.env("HOME", "/").env(variable, value).uid(user).gid(user).run_in_time().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let own = rustix::process::geteuid().as_raw();
    for (variable, value, effect) in cases {
        let said = run(variable, value, own);
        assert!(said.contains("secure 0") && said.contains(effect), "{variable} has no effect at all: {said}");
    }
    if own != 0 {
        return println!("skipped: set-user-ID programs of root's need root");
    }
    // A container's root may be without the right to capture from its network: then activation fails, as for any user.
    let activated = |said: &str| said.lines().find(|line| line.starts_with("activate ")).map(str::to_owned);
    let alone = activated(&run("UNUSED", "", own));
    assert!(alone.is_some(), "it activates a handle or says why not");
    may(&program, 0o4755);
    for (variable, value, effect) in cases {
        let said = run(variable, value, OTHER_USER);
        if said.contains("secure 0") {
            return println!(
                "skipped: set-user-ID programs have no effect on the file system of {}",
                program.display()
            );
        }
        assert!(said.contains("secure 1") && !said.contains(effect), "{variable}: {said}");
        assert_eq!(activated(&said), alone, "{variable}: {said}");
    }
}
