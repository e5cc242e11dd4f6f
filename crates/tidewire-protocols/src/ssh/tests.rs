use tidewire_core::Direction::{ClientToServer, ServerToClient};

use md5::{Digest as _, Md5};

use crate::{
    testing::{Sent, transactions},
    text::hex,
    transaction::Fields,
};

fn kexinit(lists: [&str; 8]) -> Vec<u8> {
    let mut payload = [&[20][..], &[7; 16]].concat();
    for list in lists {
        payload.extend_from_slice(&(list.len() as u32).to_be_bytes());
        payload.extend_from_slice(list.as_bytes());
    }
    payload.extend_from_slice(&[0; 13]);
    [&(payload.len() as u32 + 5).to_be_bytes()[..], &[4], &payload, &[0; 4]].concat()
}

#[test]
fn both_sides_are_known_however_they_are_cut() {
    let lists = ["kex", "key", "cipher>", "<cipher", "mac>", "<mac", "none", "zlib"];
    let said = [
        (ServerToClient, b"Welcome\r\nSSH-2.0-OpenSSH_9.2p1 Debian-2\r\n".to_vec()),
        (ClientToServer, [b"SSH-2.0-Go\n".to_vec(), kexinit(lists)].concat()),
        (ServerToClient, kexinit(lists)),
    ];
    let sent =
        [vec![(ClientToServer, Vec::new())], said[1..2].to_vec(), said[..1].to_vec(), said[2..].to_vec()].concat();
    let found = transactions(&Sent::of(&sent), 22);
    let [one] = &found[..] else { panic!("{found:?}") };
    let Fields::Ssh(ssh) = &one.fields else { panic!("{one:?}") };
    assert_eq!((ssh.client_version.as_deref(), ssh.client_software.as_deref()), (Some("2.0"), Some("Go")));
    assert_eq!(ssh.server_software.as_deref(), Some("OpenSSH_9.2p1 Debian-2"));
    let digest = |text: &str| Some(hex(&Md5::digest(text)).into());
    assert_eq!((&ssh.hassh, &ssh.hassh_server), (&digest("kex;cipher>;mac>;none"), &digest("kex;<cipher;<mac;zlib")));
    for (index, (_, bytes)) in sent.iter().enumerate() {
        for at in 1..bytes.len() {
            assert_eq!(transactions(&Sent::of(&sent).cut(index, at), 22), found, "piece {index} cut at {at}");
        }
    }
}

/// Lines before the server's identification (RFC 4253 section 4.2), in one piece with it or not, before the client's or behind.
#[test]
fn a_server_may_say_something_first() {
    let server = |text: &[u8]| (ServerToClient, text.to_vec());
    let client = || (ClientToServer, b"SSH-2.0-Go\r\n".to_vec());
    let banners = [
        "Welcome\r\n",
        "*** NOTICE ***\r\nof \u{1b}[1mtwo\u{1b}[0m \u{e4} lines\n",
        "\r\n",
        "x\n",
        "220 x\r\n",
        "pre\r\n",
    ];
    for banner in banners.map(str::as_bytes) {
        let whole = [banner, b"SSH-2.0-OpenSSH_9\r\n"].concat();
        for sent in [
            vec![server(&whole), client()],
            vec![server(banner), server(b"SSH-2.0-OpenSSH_9\r\n"), client()],
            vec![client(), server(&whole)],
            vec![server(banner), client(), server(b"SSH-2.0-OpenSSH_9\r\n")],
        ] {
            let found = transactions(&Sent::of(&sent), 2222);
            let names: Vec<_> = found.iter().map(|one| (one.name(), one.request())).collect();
            assert_eq!(names, [(Some("OpenSSH_9"), "Go".into())], "{sent:?}");
            assert_eq!(transactions(&Sent::of(&sent).bytewise(), 2222), found);
        }
    }
    // No text, more than is kept, and a client that speaks something else.
    for sent in [
        vec![server(b"\0\x01\nSSH-2.0-x\r\n"), client()],
        vec![server(&[b'x'; 512]), server(b"\nSSH-2.0-x\r\n"), client()],
        vec![server(b"hello\r\n"), (ClientToServer, b"hello\r\n".to_vec()), server(b"SSH-2.0-x\r\n")],
    ] {
        assert_eq!(transactions(&Sent::of(&sent), 2222), [], "{sent:?}");
    }
}
