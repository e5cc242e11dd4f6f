//! Records of streams that go on, for collectors that wait no longer than their active timeout.

use tidewire::{Direction, DirectionStats, Endpoint, Stream};

/// Figures of a stream's records so far.
pub struct Interim {
    /// Sums of its records.
    stats: [DirectionStats; 2],
    /// Who the client was then: later packets may show that it was the other one.
    client: Endpoint,
    /// The packets' clock at the last record.
    reported_ns: u64,
}

impl Interim {
    /// The figures of a stream now. `clock_ns`: the packets' clock.
    pub fn of<D>(stream: &Stream<'_, D>, clock_ns: u64) -> Self {
        let stats = Direction::BOTH.map(|direction| stream.stats(direction));
        Self { stats, client: stream.key().client, reported_ns: clock_ns }
    }

    /// The packets' clock at the last record.
    pub fn reported_ns(&self) -> u64 {
        self.reported_ns
    }

    /// Sums of the records so far, in the order of the stream's directions now.
    pub fn stats<D>(&self, stream: &Stream<'_, D>) -> [DirectionStats; 2] {
        let [one, other] = self.stats;
        if self.client == stream.key().client { [one, other] } else { [other, one] }
    }
}
