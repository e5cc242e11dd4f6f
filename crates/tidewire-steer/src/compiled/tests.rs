use super::*;
use crate::bpf::{Ending, MapUse};

fn compiled(text: &str) -> Compiled {
    Compiled::new(&Program::parse(text).unwrap(), &Settings::default()).unwrap()
}

const ONE_GROUP: Engine = Engine::Fanout { second_group: false };
const TWO_GROUPS: Engine = Engine::Fanout { second_group: true };

#[test]
fn what_cannot_run_is_said_with_its_place() {
    for (text, engine, column, what) in [
        ("tcp >-> steer_rss", Engine::File, 9, "the card's hash is not known"),
        ("tcp >-> steer_rss", Engine::Xdp, 9, "the card's hash is not known"),
        ("steer_rx_queue", Engine::File, 1, "the receive queue is not written"),
        ("tcp >-> double_steer_ip", ONE_GROUP, 9, "gives a packet to one socket"),
        ("when is_ip (steer_local_ip 10.0.0.0/8)", ONE_GROUP, 13, "gives a packet to one socket"),
        ("steer_local_link 02:00:00:00:00:01", Engine::Xdp, 1, "redirected to one socket"),
        ("inc 3 >-> double_steer_mac", TWO_GROUPS, 1, "count every packet twice"),
        ("double_steer_mac >-> sample 2", TWO_GROUPS, 22, "count every packet twice"),
        ("ip >-> steer_to 4", Engine::File, 8, "worker 4, and there are 4"),
    ] {
        let error = compiled(text).check(engine, 4).expect_err(text);
        assert!(error.message.contains(what), "{error}");
        assert_eq!((error.at.column, error.excerpt.as_str()), (column, text), "{error}");
        assert!(!error.hint.is_empty(), "{error}");
    }
}

#[test]
fn what_can_run_is_let_through() {
    for (text, engine) in [
        ("steer_rss", ONE_GROUP),
        ("steer_rx_queue", ONE_GROUP),
        ("steer_rx_queue", Engine::Xdp),
        ("double_steer_ip", Engine::File),
        ("double_steer_ip", TWO_GROUPS),
        ("sample 2 >-> inc 1 >-> steer_rrobin", ONE_GROUP),
        ("sample 2 >-> inc 1 >-> steer_rrobin", Engine::Xdp),
        ("steer_to 3", Engine::Xdp),
    ] {
        assert_eq!(compiled(text).check(engine, 4), Ok(()), "{text}");
    }
}

#[test]
fn what_may_happen_is_known_before() {
    for (text, may_drop, may_double) in [
        ("steer_rrobin", false, false),
        ("steer_to 1", false, false),
        ("when is_tcp (steer_to 1)", false, false),
        ("steer_flow", true, false),
        ("tcp", true, false),
        ("steer_local_net 10.0.0.0 8 16", true, true),
    ] {
        let compiled = compiled(text);
        assert_eq!((compiled.may_drop(), compiled.may_double()), (may_drop, may_double), "{text}");
    }
}

#[test]
fn maps_are_requested_where_they_are_used() {
    let maps = |text: &str| compiled(text).fanout(4, Copy::First).unwrap().maps();
    assert_eq!(maps("steer_flow"), []);
    assert_eq!(maps("inc 1 >-> dec 2 >-> sample 3"), [MapUse::State]);
    let settings = Settings { fragments: crate::Fragments::FollowFirst, ..Settings::default() };
    let follow = Compiled::new(&Program::parse("steer_flow").unwrap(), &settings).unwrap();
    assert_eq!(follow.fanout(4, Copy::First).unwrap().maps(), [MapUse::Datagrams]);
    let redirect = Output::Redirect { workers: 4, dropped: Ending::Return(1), absent: Ending::Return(2), stamp: false };
    assert_eq!(follow.code(Hook::Xdp, redirect).unwrap().maps(), [MapUse::Datagrams, MapUse::Sockets]);
    let jump = Ending::Jump { slot: 4, otherwise: 1 };
    let redirect = Output::Redirect { workers: 4, dropped: jump, absent: jump, stamp: true };
    assert_eq!(compiled("steer_flow").code(Hook::Xdp, redirect).unwrap().maps(), [MapUse::Sockets, MapUse::Programs]);
}

#[test]
fn too_much_is_an_error_and_not_a_program() {
    let samples = "sample 2 >-> ".repeat(17) + "unit";
    let error = Compiled::new(&Program::parse(&samples).unwrap(), &Settings::default()).expect_err("17 counts");
    assert!(error.message.contains("more than 16"), "{error}");
    let deep = (0..20).fold("steer_flow".to_owned(), |inner, _| format!("inv (steer_to 1 >-> {inner})"));
    let error = Compiled::new(&Program::parse(&deep).unwrap(), &Settings::default()).expect_err("many variables");
    assert!(error.message.contains("variables"), "{error}");
    let long = "steer_flow >-> ".repeat(300) + "unit";
    let long = Compiled::new(&Program::parse(&long).unwrap(), &Settings::default())
        .and_then(|c| c.code(Hook::Socket, Output::Digest));
    assert!(long.expect_err("a long program").hint.contains("smaller"));
}
