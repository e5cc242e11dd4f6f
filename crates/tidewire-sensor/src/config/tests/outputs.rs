//! Recordings and outputs of records.

use super::*;

#[test]
fn a_recording_is_completed() {
    let text = "[capture]\ninterfaces = [\"eth1\"]\nworkers = 2\n[record]\ndirectory = \"/srv/packets\"\n";
    let more = "size = \"10G\"\ncompress = \"zstd\"\nsnaplen = 0\nclasses = [{ filter = \"port 443\", snaplen = 96, priority = 3 }]\n";
    let look_back = "keep-last = \"5m\"\ntrigger-pattern = \"|de ad|x\"\ntrigger-events = [\"scan\"]\n";
    let config = right(&format!("{text}{more}{look_back}"));
    let record = config.record.expect("a recording");
    assert!(config.queues.is_empty(), "a recording needs no queue");
    let options = &record.options;
    assert!(options.is_live && options.workers == 2 && options.snap_bytes == u32::MAX, "{options:?}");
    assert_eq!(
        (options.size_bytes, options.classes[0].snap_bytes, options.classes[0].priority),
        (Some(10 << 30), Some(96), Some(3))
    );
    assert_eq!(options.look_back.as_ref().map(|one| one.patterns.clone()), Some(vec![b"\xde\xadx".to_vec()]));
    assert_eq!(config.events.expect("events").trigger_kinds, ["scan"]);
    let files = right("[capture]\nfiles = [\"a.pcap\"]\nworkers = 4\n[record]\ndirectory = [\"/srv/a\", \"/srv/b\"]\n");
    let options = files.record.expect("a recording").options;
    assert!(!options.is_live && options.workers == 1 && options.directories.len() == 2, "files have one order");
}

#[test]
fn mistakes_of_a_recording_are_named() {
    let text = "[capture]\ninterfaces = [\"eth1\"]\n[record]\n";
    let place = "directory = \"/srv/packets\"\n";
    for (lines, expected) in [
        ("", "does not say where packets are recorded"),
        ("directory = []\n", "does not say where packets are recorded"),
        ("directory = \"/srv/s\"\n[sensor]\ndirectory = \"/srv/s\"\n", "is that of [sensor]"),
        ("directory = \"/srv/packets\"\n[events]\nstore = \"/srv/packets/events.db\"\n", "where packets are recorded"),
        ("directory = \"packets\"\n", "must be an absolute path"),
        ("directory = [\"/srv/a\", \"/srv/./a\"]\n", "the same directory, named twice"),
        (&format!("{place}segment-size = \"1K\"\n"), "'segment-size' must be 64K to 64G"),
        (&format!("{place}size = \"1M\"\nsegment-size = \"1M\"\n"), "'size' 1048576 has no room for 3 segments"),
        (&format!("{place}encrypt-to = \"analyst\"\n"), "'encrypt-to' "),
        (&format!("{place}trigger = \"port 80\"\n"), "'trigger' has no meaning where packets are recorded at once"),
        (&format!("{place}keep-last = \"5m\"\nkeep-memory = \"1M\"\n"), "'keep-memory' must be at least 4 MiB"),
        (&format!("{place}classes = [{{ snaplen = 96 }}]\n"), "a class has no 'filter'"),
        (&format!("{place}base-threshold = \"200%\"\n"), "'base-threshold'"),
        (&format!("{place}compres = \"zstd\"\n"), "did you mean 'compress'?"),
    ] {
        let mistakes = wrong(&format!("{text}{lines}"));
        assert!(mistakes.iter().any(|mistake| mistake.contains(expected)), "{lines}: {mistakes:#?}");
    }
    let off = format!("{text}{place}keep-last = \"5m\"\ntrigger-events = \"scan\"\n[events]\nenabled = false\n");
    assert!(wrong(&off).iter().any(|mistake| mistake.contains("'trigger-events' needs events")));
    let kind = format!("{text}{place}keep-last = \"5m\"\ntrigger-events = [\"scan.verticle\", \"of-mine\"]\n");
    assert!(wrong(&kind).iter().any(|mistake| mistake.contains("did you mean \"scan.vertical\"?")));
    let plural = format!("{text}{place}[records]\ndirectory = \"/srv/packets\"\n");
    assert!(wrong(&plural).iter().any(|mistake| mistake.contains("it is a key of [record]")));
    let files = "[capture]\nfiles = [\"a.pcap\"]\n[record]\ndirectory = \"/srv/packets\"\nkeep-last = \"5m\"\n";
    assert!(wrong(files).iter().any(|mistake| mistake.contains("'keep-last' of files needs a trigger")));
    let output = format!("{text}{place}[output.eve]\nto = \"eve:/srv/packets/eve.json\"\n");
    assert!(wrong(&output).iter().any(|mistake| mistake.contains("which is used for something else")));
}

#[test]
fn outputs_are_completed() {
    let text = "[capture]\ninterfaces = [\"eth1\"]\n";
    let outputs = "[output.eve]\nto = \"eve:/srv/eve.json\"\ntypes = [\"dns\"]\nrotate = \"1h\"\n[output.far]\nto = \"ipfix:udp://192.0.2.1\"\n";
    let config = right(&format!("{text}{outputs}"));
    let records = config.records.expect("outputs");
    assert!(config.queues.is_empty(), "logs need no queue");
    let seconds = records.active_timeout.as_secs();
    assert_eq!((records.cutoff_bytes, seconds, records.outputs.len()), (Some(16 << 10), 60, 2));
    let eve = &records.outputs[0];
    assert_eq!(
        (eve.to.as_str(), eve.types.as_slice(), eve.rotate.as_deref()),
        ("eve:/srv/eve.json", &["dns".to_owned()][..], Some("1h"))
    );
    assert_eq!((records.buffer_bytes, eve.buffer_bytes, eve.priority), (None, None, None));
    let given =
        format!("{text}[records]\nbuffer = \"1M\"\n[output.a]\nto = \"json:/srv/a\"\nbuffer = \"64K\"\npriority = 0\n");
    let given = right(&given).records.expect("outputs");
    let output = &given.outputs[0];
    assert_eq!((given.buffer_bytes, output.buffer_bytes, output.priority), (Some(1 << 20), Some(64 << 10), Some(0)));
    // Files are read whole; queues stay where they are wanted.
    let more = format!("[capture]\nfiles = [\"a.pcap\"]\n[queue.q]\n{outputs}[records]\nactive-timeout = \"5m\"\n");
    let config = right(&more);
    let records = config.records.expect("outputs");
    assert_eq!((records.cutoff_bytes, records.active_timeout.as_secs(), config.queues.len()), (None, 300, 1));
    assert!(right(text).records.is_none());
    assert!(examined(&format!("{text}[records]\ncutoff = 0\n")).warnings[0].to_string().contains("without an output"));
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    let of = |keys: &str| wrong(&format!("[capture]\ninterfaces = [\"eth1\"]\n[output.a]\n{keys}\n")).join("\n");
    for (keys, said) in [
        ("", "[output.a] does not say what is written where"),
        ("to = \"eve\"", "expected FORMAT:PLACE"),
        ("to = \"eve:-\"", "the standard output is the sensor's log"),
        ("to = \"eve:eve.json\"", "the path must be absolute"),
        ("to = \"eve:/a-file/eve.json\"", "/a-file is no folder"),
        ("to = \"netflow9:/srv/x\"", "netflow9 is sent"),
        ("to = \"json:/srv/x\"\ntypes = [\"dns\"]", "'types' is for EVE"),
        ("to = \"eve:/srv/x\"\ntypes = [\"dnss\"]", "did you mean \"dns\"?"),
        ("to = \"eve:/srv/x\"\nrotate = \"1ms\"", "at least a second"),
        ("to = \"ipfix:udp://192.0.2.1\"\nrotate = \"1h\"", "'rotate' is for files"),
        ("to = \"eve:/srv/x\"\nkeep = \"10G\"", "as in size=10G,age=30d,free=5G,files=100"),
        ("to = \"ipfix:udp://192.0.2.1\"\nkeep = \"files=3\"", "'keep' is for files"),
        ("to = \"eve:/srv/x\"\nenterprise = 1", "'enterprise' is for IPFIX"),
        ("to = \"ipfix:/srv/x\"\nenterprise = 29305", "reverse elements"),
        ("to = \"ipfix:/srv/x\"\nudp-rate = 1", "'udp-rate' is for UDP"),
        ("to = \"eve:/srv/x\"\npriority = 8", "'priority' must be a whole number from 0 to 7, got 8"),
        ("to = \"eve:/srv/x\"\nbuffer = \"1K\"", "'buffer' must be 64 KiB to 1 TiB"),
        ("to = \"eve:/srv/x\"\n[output.b]\nto = \"json:/srv/x\"", "another output has the same place"),
        ("to = \"zeek:/srv\"\n[output.b]\nto = \"json:/srv/conn.log\"", "another output has the same place"),
    ] {
        let mistakes = of(keys);
        assert!(mistakes.contains(said), "{keys}: {mistakes}");
    }
    // Each, whatever else is wrong.
    let all = of("to = \"nonsense\"\nrotate = \"1ms\"\nkeep = \"10G\"");
    assert_eq!((all.matches("FORMAT:PLACE").count(), all.matches("at least a second").count()), (1, 1), "{all}");
    assert!(all.contains("as in size=10G,age=30d,free=5G,files=100"), "{all}");
    let many: String = (0..16).map(|number| format!("[output.o{number}]\nto = \"json:/srv/{number}\"\n")).collect();
    assert!(of(&format!("to = \"json:/srv/x\"\n{many}")).contains("at most 16 outputs, got 17"));
    // A capture that is read, by another name.
    let folder = tempfile::tempdir().unwrap();
    let [capture, link] = ["a.pcap", "b.pcap"].map(|name| folder.path().join(name));
    std::fs::write(&capture, "x").unwrap();
    std::os::unix::fs::symlink(&capture, &link).unwrap();
    let (capture, link) = (capture.display(), link.display());
    let mistakes = wrong(&format!("[capture]\nfiles = [\"{capture}\"]\n[output.a]\nto = \"ipfix:{link}\"\n"));
    assert!(mistakes.iter().any(|one| one.contains("which is used for something else")), "{mistakes:?}");
}
