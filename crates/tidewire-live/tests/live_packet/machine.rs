//! Queries and settings of the whole machine: groups that there are, channels of interfaces.

use tidewire_live::{Fanout, FanoutMode, Interface, LiveEngine, LiveSettings, packet::groups_in_use};

use crate::rig::{FAR, cable, inside, ip};

#[test]
fn groups_are_found_while_they_last() {
    inside(|| {
        cable();
        let before = match groups_in_use() {
            Ok(before) => before,
            Err(error) => return println!("skipped: {error}"),
        };
        assert!(before.is_empty(), "a namespace of our own: {before:?}");
        let mut settings = LiveSettings::new([FAR]);
        settings.set_engine(LiveEngine::Packet);
        settings.set_ring_bytes(2 << 20);
        settings.set_pin(false);
        let fanout = Fanout::new(FanoutMode::Hash).with_group(0x1234);
        settings.set_fanout(Some(fanout));
        let live = tidewire_live::open(&settings).unwrap();
        assert_eq!(groups_in_use().unwrap(), [0x1234].into());
        drop(live);
        assert!(groups_in_use().unwrap().is_empty());
    });
}

#[test]
fn channels_are_set_and_refused() {
    inside(|| {
        ip("link add tw7 numrxqueues 4 numtxqueues 4 type veth peer name tw8");
        let queues = || Interface::find("tw7").unwrap().rx_queues;
        Interface::set_channels("tw7", Some(3), None).unwrap();
        assert_eq!(queues(), 3);
        Interface::set_channels("tw7", Some(1), None).unwrap();
        assert_eq!(queues(), 1);
        for (name, receive, combined) in
            [("tw7", Some(5), None), ("tw7", None, Some(9)), ("lo", Some(1), None), ("nosuch0", Some(1), None)]
        {
            let error = Interface::set_channels(name, receive, combined).unwrap_err().with_hint().to_string();
            assert!(error.contains(name) && error.contains("setting its channels"), "{error}");
        }
        assert_eq!(queues(), 1);
    });
}
