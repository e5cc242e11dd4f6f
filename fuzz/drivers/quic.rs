//! Initial packets of QUIC with any frames: input of the driver `protocols`, protected with the keys of RFC 9001 appendix A. Used by a
//! fuzz target and by the test that replays the seeds.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey, quic};

/// The client's identifier for the server, and the keys that follow from it.
const DESTINATION: [u8; 8] = *b"\x83\x94\xc8\xf0\x3e\x51\x57\x08";
const KEY: [u8; 16] = *b"\x1f\x36\x96\x13\xdd\x76\xd5\x46\x77\x30\xef\xcb\xe3\xb1\xa2\x2d";
const IV: [u8; 12] = *b"\xfa\x04\x4b\x2f\x42\xa3\xfd\x3b\x46\xfb\x25\x5c";
const HEADER: [u8; 16] = *b"\x9f\x50\x44\x9e\x04\xa0\xe8\x10\x28\x3a\x1e\x99\x33\xad\xed\xd2";

/// Each datagram's frames follow a byte of direction, and two of their length.
pub fn protected(input: &[u8]) -> Vec<u8> {
    // Datagrams.
    let (mut sent, mut rest) = (vec![4], input);
    for number in 0..32 {
        let Some((&[how, high, low], behind)) = rest.split_first_chunk() else { break };
        let length = usize::from(u16::from_be_bytes([high, low])).min(behind.len()).min(1100);
        let (frames, behind) = behind.split_at(length);
        rest = behind;
        let datagram = initial(number, frames);
        sent.push(how & 1);
        sent.extend_from_slice(&(datagram.len() as u16).to_be_bytes());
        sent.extend_from_slice(&datagram);
    }
    sent
}

/// A datagram of 1200 bytes with an Initial packet of these frames.
fn initial(number: u8, frames: &[u8]) -> Vec<u8> {
    let mut header = [&b"\xc0\0\0\0\x01\x08"[..], &DESTINATION, &[0, 0]].concat();
    let rest_bytes = 1200 - header.len() - 2;
    header.extend_from_slice(&(0x4000 | rest_bytes as u16).to_be_bytes());
    let number_at = header.len();
    header.push(number);
    let mut payload = frames.to_vec();
    payload.resize(rest_bytes - 1 - 16, 0);
    let mut nonce = IV;
    nonce[11] ^= number;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).expect("a key of 16 bytes"));
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&header), &mut payload)
        .expect("a short packet");
    let mut packet = [header, payload].concat();
    let sample: [u8; 16] = packet[number_at + 4..number_at + 20].try_into().expect("16 bytes");
    let mask =
        quic::HeaderProtectionKey::new(&quic::AES_128, &HEADER).expect("a key").new_mask(&sample).expect("a sample");
    packet[0] ^= mask[0] & 0x0f;
    packet[number_at] ^= mask[1];
    packet
}
