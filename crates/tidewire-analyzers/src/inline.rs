//! The analyzers of one worker, as a handler.

use tidewire::{Chunk, Datagram, EndReason, Gap, Handler, OutsidePacket, Stream, Unfinished};

use crate::{
    anomaly::{Anomaly, AnomalyState},
    matching::{MatchState, Matching},
    scan::Scan,
};

/// The analyzers of one worker. Beside another handler, its methods are called with a [lent](Stream::lend) stream.
///
/// It delivers nothing to itself: cutoffs, chunks and priorities are those of the streams. What is beyond a stream's cutoff it
/// does not see.
#[derive(Debug, Default)]
pub struct Inline {
    pub(crate) anomaly: Option<Anomaly>,
    pub(crate) matching: Option<Matching>,
    pub(crate) scan: Option<Scan>,
}

/// State of a stream.
#[derive(Debug, Default)]
pub struct InlineState {
    anomaly: AnomalyState,
    matching: MatchState,
}

impl Inline {
    /// Reports what is left: the input has ended.
    pub fn finish(&mut self) {
        if let Some(anomaly) = &mut self.anomaly {
            anomaly.finish();
        }
    }
}

fn anomaly(state: &mut InlineState) -> &mut AnomalyState {
    &mut state.anomaly
}

fn matching(state: &mut InlineState) -> &mut MatchState {
    &mut state.matching
}

impl Handler for Inline {
    type Data = InlineState;
    const DATAGRAMS: bool = true;
    const UNFINISHED: bool = true;
    const OUTSIDE: bool = true;

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, InlineState>, chunk: Chunk<'_>) {
        if let Some(analyzer) = &self.anomaly {
            analyzer.look(stream, anomaly);
        }
        if let Some(analyzer) = &mut self.matching {
            analyzer.data(stream, &chunk, matching);
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, InlineState>, gap: Gap) {
        if let Some(analyzer) = &self.anomaly {
            analyzer.look(stream, anomaly);
        }
        if let Some(analyzer) = &self.matching {
            analyzer.gap(stream, &gap, matching);
        }
    }

    #[inline]
    fn close(&mut self, stream: &mut Stream<'_, InlineState>, _: EndReason) {
        if let Some(analyzer) = &mut self.anomaly {
            analyzer.close(stream, anomaly);
        }
        if let Some(analyzer) = &mut self.scan {
            analyzer.close(stream);
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        if let Some(analyzer) = &mut self.anomaly {
            analyzer.datagram(datagram);
        }
    }

    fn unfinished(&mut self, unfinished: &Unfinished) {
        if let Some(analyzer) = &self.scan {
            analyzer.unfinished(unfinished);
        }
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        if let Some(analyzer) = &mut self.anomaly {
            analyzer.outside(&packet);
        }
    }
}
