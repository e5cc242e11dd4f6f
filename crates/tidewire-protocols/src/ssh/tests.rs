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
