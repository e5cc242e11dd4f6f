//! Records of streams that go on, for collectors that wait no longer than their active timeout.

use tidewire::{Direction, DirectionStats, Endpoint, Stream};

/// What was said of a stream so far.
pub struct Interim {
    /// Sums of its records.
    stats: [DirectionStats; 2],
    /// Who the client was then: later packets may show that it was the other one.
    client: Endpoint,
    /// The packets' clock at the last record.
    said_ns: u64,
}

impl Interim {
    /// The figures of a stream now. `clock_ns`: the packets' clock.
    pub fn of<D>(stream: &Stream<'_, D>, clock_ns: u64) -> Self {
        let stats = Direction::BOTH.map(|direction| stream.stats(direction));
        Self { stats, client: stream.key().client, said_ns: clock_ns }
    }

    /// When it was said.
    pub fn said_ns(&self) -> u64 {
        self.said_ns
    }

    /// Sums of the records so far, in the order of the stream's directions now.
    pub fn stats<D>(&self, stream: &Stream<'_, D>) -> [DirectionStats; 2] {
        let [one, other] = self.stats;
        if self.client == stream.key().client { [one, other] } else { [other, one] }
    }
}
