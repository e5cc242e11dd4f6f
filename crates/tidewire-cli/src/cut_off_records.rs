//! Records of streams of an archive, with what its recorder cut off of them.

use tidewire::Gap;
use tidewire_outputs::CutOffs;

use crate::{error, record::Record, units::counted};

/// Corrects a record: cut-off bytes are no loss, and anomalies that only come of them are removed. `gaps`: those of the stream.
pub fn apply(cuts: &CutOffs, record: &mut Record, gaps: &[Gap]) {
    let mut view = record.view();
    view.gaps = gaps;
    let Some(corrected) = cuts.correct(&mut view) else { return };
    let (stats, state, end, cut_off) = (view.stats, view.state, view.end, view.cut_off);
    (record.stats, record.state, record.end, record.cut_off) = (stats, state, end, cut_off.map(Box::new));
    if let Some(irregularities) = &mut record.irregularities {
        (irregularities.gaps, irregularities.anomalies) = (corrected.gaps, corrected.anomalies);
    }
}

/// Says where it is not certain which stream something was cut off of.
pub fn say_ambiguous(cuts: &CutOffs) {
    let count = cuts.ambiguous();
    if count > 0 {
        let streams = counted(count, "stream has", "streams have");
        error::notify(format_args!(
            "{streams} the addresses, ports and time of another one: what was cut off of one of them is shown at both"
        ));
    }
}
