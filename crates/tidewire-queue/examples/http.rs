//! Prints the HTTP requests that begin streams, one a line: `cargo run -p tidewire-queue --example http -- SOCKET QUEUE`.
//! Without arguments it reads the queue that a sensor started it for.

use std::{collections::HashMap, env, net::SocketAddr, path::Path, time::Duration};

use tidewire_queue::{
    Attach, Next, Reader,
    records::{Direction, Event},
};

/// Method and path, if the bytes begin as a request does.
fn request(text: &[u8]) -> Option<(&str, &str)> {
    let mut words = std::str::from_utf8(text.split(|byte| *byte == b'\r').next()?).ok()?.splitn(3, ' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let is_path = path.bytes().all(|byte| byte.is_ascii_graphic());
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_method && is_path && version.starts_with("HTTP/1.")).then_some((method, path))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let mut reader = match words.as_slice() {
        [socket, queue] => Reader::attach(Path::new(socket), &Attach::new(queue, "http"))?,
        _ => Reader::from_environment()?,
    };
    // Streams without a request so far: the ends, and what the client sent.
    let mut begun: HashMap<u64, (String, Vec<u8>)> = HashMap::new();
    let mut payload = Vec::new();
    loop {
        payload.clear();
        let record = match reader.next_timeout(&mut payload, Duration::from_secs(1))? {
            Next::Record(record) => record,
            Next::Ended(_) => return Ok(()),
            // What was lost shows in the offsets of what follows.
            _ => continue,
        };
        match Event::new(&record, &payload) {
            Some(Event::Open { open, .. }) => {
                let [client, server] =
                    [open.key.client, open.key.server].map(|end| SocketAddr::new(end.address, end.port));
                begun.entry(record.stream).or_insert_with(|| (format!("{client} > {server}"), Vec::new()));
            }
            Some(Event::Data { direction: Direction::ClientToServer, offset, bytes, .. }) => {
                let Some((ends, mut text)) = begun.remove(&record.stream) else { continue };
                if offset != text.len() as u64 {
                    continue; // its beginning is missing
                }
                text.extend_from_slice(bytes);
                match request(&text) {
                    Some((method, path)) => println!("{ends} {method} {path}"),
                    None if text.len() < 512 => drop(begun.insert(record.stream, (ends, text))),
                    None => {}
                }
            }
            Some(Event::Close(_)) => drop(begun.remove(&record.stream)),
            _ => {}
        }
    }
}
