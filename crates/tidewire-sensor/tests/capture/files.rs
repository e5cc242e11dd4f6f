//! Files: nothing is lost, and all ends in order.

use std::path::PathBuf;

use tidewire_queue::Ended;

use crate::rig::{Rig, corpus, queue};

#[test]
fn an_analyzer_sees_a_file() {
    let mut streams = queue("streams");
    streams.wait_for = 1;
    let rig = Rig::new(&[corpus("demo")], vec![streams]);
    let mut running = rig.start();
    running.ready();
    let seen = rig.analyzer("streams", None).join().unwrap();
    assert_eq!(seen.first(), 0, "it was waited for");
    let (status, _) = running.finish();
    assert_eq!(seen.ended, Some(Ended::Finished));
    assert!(seen.streams.len() > 3 && seen.streams.values().all(|stream| stream.close.is_some()));
    assert_eq!(seen.progress().read, status.queues[0].records);
    assert!(status.packets > 0 && !rig.socket().exists());
}

#[test]
fn what_cannot_be_captured_is_said() {
    let missing = PathBuf::from("/no/such/file.pcap");
    let (code, text) = Rig::new(&[missing], vec![queue("streams")]).start().failure();
    assert!(code == 3 && text.contains("/no/such/file.pcap: No such file"), "{code} {text}");
    let twice = Rig::new(&[corpus("demo")], vec![queue("streams"), queue("streams")]);
    let (code, text) = twice.start().failure();
    assert!(code == 2 && text.contains("queue streams") && text.contains("and differ"), "{code} {text}");
    let mut wrong = queue("streams");
    wrong.filter = Some("tcp prot 80".into());
    let (code, text) = Rig::new(&[corpus("demo")], vec![wrong]).start().failure();
    assert!(code == 2 && text.contains("tcp prot 80"), "{code} {text}");
}
