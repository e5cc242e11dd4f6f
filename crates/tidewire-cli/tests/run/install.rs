//! `scripts/install.sh`: what it puts somewhere works there, and goes again.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tidewire_testing::{InTime as _, missing};

use super::{drop_in, printed, said};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Installs what this build made.
fn install(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(Path::new(ROOT).join("scripts/install.sh"));
    command.env_remove("DESTDIR").env("BUILT", drop_in().parent().unwrap());
    command.envs(variables.iter().copied()).current_dir("/").run_in_time().unwrap()
}

/// A program with nothing in its environment but where programs are.
fn clean(prefix: &Path, words: &[&str]) -> Output {
    let path = format!("{}:{}", prefix.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    Command::new("env").args(["-i", &format!("PATH={path}")]).args(words).run_in_time().unwrap()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// A program that is linked with the library, as pkg-config says, and makes a mistake.
fn calls_fanout(prefix: &Path, place: &Path) {
    if let Some(reason) = missing(&["cc", "pkg-config"]) {
        return println!("skipped: {reason}");
    }
    let flags = Command::new("pkg-config")
        .args(["--cflags", "--libs", "tidewire-pcap"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .run_in_time()
        .unwrap();
    if said(&flags).contains("libpcap") {
        return println!("skipped: {}", said(&flags));
    }
    assert!(flags.status.success(), "{}", said(&flags));
    let (source, program) = (place.join("f.c"), place.join("f"));
    let text = "#include <stdio.h>\n#include <pcap/pcap.h>\n#include <tidewire/pcap-fanout.h>\nint main(void) {\n\
                char error[PCAP_ERRBUF_SIZE];\npcap_t *handle = pcap_create(\"lo\", error);\n\
                if (handle == NULL) return 1;\nif (pcap_fanout(handle, 3, \"hsah\") == 0) return 2;\n\
                puts(pcap_geterr(handle));\nreturn 0; }\n";
    fs::write(&source, text).unwrap();
    let flags = String::from_utf8(flags.stdout).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-o"]).arg(&program).arg(&source).args(flags.split_whitespace());
    let built = compiler.run_in_time().unwrap();
    assert!(built.status.success(), "{}", said(&built));
    let output = clean(prefix, &[program.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert!(printed(&output)[0].contains("did you mean hash?"), "{output:?}");
}

/// The analyzer of the README, compiled with the installed library of queues, shared and static.
fn reads_queues(prefix: &Path, place: &Path) {
    if let Some(reason) = missing(&["cc", "pkg-config"]) {
        return println!("skipped: {reason}");
    }
    for (name, options) in [("shared", &["--cflags", "--libs"][..]), ("static", &["--cflags", "--libs", "--static"])] {
        let flags = Command::new("pkg-config")
            .args(options)
            .arg("tidewire-queue")
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
            .run_in_time()
            .unwrap();
        assert!(flags.status.success(), "{}", said(&flags));
        let flags = String::from_utf8(flags.stdout).unwrap();
        let mut flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        if name == "static" {
            let archive = format!("{}/lib/libtidewire_queue.a", prefix.display());
            flags.iter_mut().filter(|flag| *flag == "-ltidewire_queue").for_each(|flag| flag.clone_from(&archive));
        }
        let program = place.join(name);
        let mut compiler = Command::new("cc");
        compiler
            .args(["-Wall", "-Werror", "-o"])
            .arg(&program)
            .arg(Path::new(ROOT).join("examples/http.c"))
            .args(flags);
        let built = compiler.run_in_time().unwrap();
        assert!(built.status.success(), "{}", said(&built));
        let output = clean(prefix, &[program.to_str().unwrap(), "/nonexistent", "streams"]);
        assert!(said(&output).contains("/nonexistent: no server of queues answers"), "{name}: {}", said(&output));
    }
}

/// Section names of an ELF file, as readelf prints them.
fn sections(file: &Path) -> String {
    let output = Command::new("readelf").args(["--section-headers", "--wide"]).arg(file).run_in_time().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn installed_programs_are_stripped_and_symbols_are_kept_on_request() {
    if let Some(reason) = missing(&["readelf"]) {
        return println!("skipped: {reason}");
    }
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("opt");
    let to = ("PREFIX", prefix.to_str().unwrap());
    let installed = ["bin/tidewire", "lib/tidewire/libtidewire_pcap.so", "lib/libtidewire_queue.so.0"];
    for symbols in ["", "1"] {
        let output = install(&[to, ("SYMBOLS", symbols)]);
        assert!(output.status.success(), "{}", said(&output));
        for name in installed {
            let file = prefix.join(name).canonicalize().unwrap();
            let debug = file.parent().unwrap().join(".debug").join(file.file_name().unwrap());
            let debug = PathBuf::from(format!("{}.debug", debug.display()));
            let found = sections(&file);
            assert!(!found.contains(".symtab"), "{name}: {found}");
            assert_eq!((found.contains(".gnu_debuglink"), debug.exists()), (symbols == "1", symbols == "1"), "{name}");
            if symbols == "1" {
                assert!(sections(&debug).contains(".symtab"), "{name}");
            }
        }
    }
    let output = install(&[to, ("UNINSTALL", "1")]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(files(&prefix), [] as [PathBuf; 0]);
}

#[test]
fn the_sample_of_the_sensors_configuration_has_no_mistake() {
    let place = tempfile::tempdir().unwrap();
    let sample = fs::read_to_string(Path::new(ROOT).join("packaging/sensor.toml")).unwrap();
    // Settings that are commented out are settings, too; sentences are not.
    let lines = sample.lines().map(|line| match line.strip_prefix("# ") {
        Some(setting) if setting.starts_with('[') || setting.contains(" = ") => setting,
        _ => line,
    });
    let folder = place.path().join("delivered");
    fs::create_dir(&folder).unwrap();
    let text = lines.map(|line| match line.split_once(" = ") {
        Some(("path", _)) => format!("path = {folder:?}"),
        Some(("command", _)) => "command = [\"true\"]".to_owned(),
        _ => line.to_owned(),
    });
    let text = text.collect::<Vec<_>>().join("\n").replace("\"analyst\"", "\"nobody\"");
    let (complete, path) = (text.replace("\"eth0\"", "\"lo\""), place.path().join("sensor.toml"));
    fs::write(&path, complete).unwrap();
    let mut check = Command::new(env!("CARGO_BIN_EXE_tidewire"));
    let output = check.args(["sensor", "--check"]).arg(&path).run_in_time().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn what_is_installed_works_there_and_goes_again() {
    let place = tempfile::tempdir().unwrap();
    let prefix = place.path().join("opt/tide");
    let to = ("PREFIX", prefix.to_str().unwrap());
    let output = install(&[to]);
    assert!(output.status.success(), "{}", said(&output));
    // Names for those that ask for libpcap are there already: no folder has to be made for a shell.
    let output = clean(&prefix, &["tidewire", "run", "-n", "1", "sh", "-c", "echo $LD_PRELOAD $LD_LIBRARY_PATH"]);
    let library = prefix.canonicalize().unwrap().join("lib/tidewire");
    assert_eq!(printed(&output), [format!("{0}/libtidewire_pcap.so {0}", library.display())], "{}", said(&output));
    for name in ["libpcap.so.0.8", "libpcap.so.1"] {
        assert_eq!(library.join(name).canonicalize().unwrap(), library.join("libtidewire_pcap.so"));
    }
    for sample in ["record.toml", "sensor.toml"] {
        assert!(prefix.join("share/doc/tidewire").join(sample).exists(), "{sample}");
    }
    calls_fanout(&prefix, place.path());
    reads_queues(&prefix, place.path());
    for page in [
        "man1/tidewire-run.1",
        "man7/tidewire-pcap.7",
        "man3/pcap_fanout.3pcap",
        "man3/tidewire_queue.3",
        "man3/tidewire_event.3",
    ] {
        let page = prefix.join("share/man").join(page);
        if tidewire_testing::find("man").is_some() {
            let shown = clean(&prefix, &["man", "-l", page.to_str().unwrap()]);
            assert!(shown.status.success() && printed(&shown).len() > 20, "{}: {}", page.display(), said(&shown));
        }
        assert!(page.exists(), "{}", page.display());
    }
    let other = prefix.join("bin/other");
    fs::write(&other, "").unwrap();
    let output = install(&[to, ("UNINSTALL", "1")]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(files(&prefix), [other]);
}

#[test]
fn packages_are_made_for_a_place_that_is_not_there_yet() {
    let place = tempfile::tempdir().unwrap();
    let to = place.path().to_str().unwrap();
    let output = install(&[("DESTDIR", to), ("PREFIX", "/usr")]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(place.path().join("usr/bin/tidewire").exists());
    for package in ["tidewire-pcap", "tidewire-queue"] {
        let package = place.path().join("usr/lib/pkgconfig").join(package).with_extension("pc");
        let package = fs::read_to_string(package).unwrap();
        assert!(package.starts_with("prefix=/usr\n") && !package.contains('@'), "{package}");
    }
    for (variables, why) in [
        ([("PREFIX", "usr"), ("DESTDIR", to)], "PREFIX must be an absolute path"),
        ([("PREFIX", "/usr"), ("BUILT", to)], "tidewire is not in"),
    ] {
        let output = install(&variables);
        assert_eq!((output.status.code(), said(&output).contains(why)), (Some(2), true), "{}", said(&output));
    }
}
