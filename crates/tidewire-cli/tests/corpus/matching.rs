//! Matches our streams with another tool's conversations.

use crate::record::StreamRecord;
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
};
use tidewire::Endpoint;

/// TCP and UDP by number.
pub const TCP: u8 = 6;
/// See [`TCP`].
pub const UDP: u8 = 17;
/// UDP-Lite, which tshark lists among UDP's conversations.
pub const UDP_LITE: u8 = 136;

/// Both ends, the smaller first.
pub type Pair = (SocketAddr, SocketAddr);

/// Reads `ADDRESS|PORT`.
pub fn endpoint(text: &str) -> SocketAddr {
    let (address, port) = text.rsplit_once('|').unwrap_or((text, "0"));
    let address: IpAddr = address.parse().unwrap_or_else(|_| panic!("no address: {text}"));
    SocketAddr::new(address, port.parse().unwrap_or_else(|_| panic!("no port: {text}")))
}

/// Ours in the same form.
pub fn ours(endpoint: Endpoint) -> SocketAddr {
    SocketAddr::new(endpoint.address, endpoint.port)
}

/// The same pair for both directions.
pub fn pair(a: SocketAddr, b: SocketAddr) -> Pair {
    if a <= b { (a, b) } else { (b, a) }
}

/// Streams of the given protocols by their ends, in the order of ids.
pub fn by_pair<'a>(streams: &'a [StreamRecord], protocols: &[u8]) -> BTreeMap<Pair, Vec<&'a StreamRecord>> {
    let mut result = BTreeMap::<_, Vec<_>>::new();
    for stream in streams.iter().filter(|stream| protocols.contains(&stream.key.proto)) {
        result.entry(pair(ours(stream.key.client), ours(stream.key.server))).or_default().push(stream);
    }
    result
}
