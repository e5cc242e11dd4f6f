//! Messages of TLS whose lengths are right, so that a fuzzer reaches what is inside of them: input of the driver `protocols` out of
//! bodies of hellos and certificates. Used by a fuzz target and by the test that replays the seeds.

/// Each piece follows a byte of direction and kind, and two of its length.
pub fn framed(input: &[u8]) -> Vec<u8> {
    let (mut framed, mut rest) = (vec![0], input);
    while let Some((&[how, high, low], behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(behind.len());
        let (body, behind) = behind.split_at(length);
        rest = behind;
        let bytes = match how >> 1 & 7 {
            1 => records(&message(1, body), how),
            2 => records(&message(2, body), how),
            3 => records(&message(11, &block24(&block24(body))), how),
            4 => record(20, &[1]),
            5 => record(21, body),
            6 => records(&message(how >> 4, body), how),
            7 => record(23, body),
            _ => body.to_vec(),
        };
        // Sides of the driver: 0 and 1, and no gap.
        framed.push(how & 1);
        framed.extend_from_slice(&(bytes.len().min(0xffff) as u16).to_be_bytes());
        framed.extend_from_slice(&bytes[..bytes.len().min(0xffff)]);
    }
    framed
}

fn block24(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[1..], bytes].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &block24(body)[..]].concat()
}

/// A message in one record, or in two.
fn records(message: &[u8], how: u8) -> Vec<u8> {
    let at = message.len() * usize::from(how >> 4) / 16;
    match at {
        0 => record(22, message),
        at => [record(22, &message[..at]), record(22, &message[at..])].concat(),
    }
}

fn record(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(1 << 14)];
    [&[kind, 3, 3], &(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}
