//! Losses of a capture before it was written, as its file states them: as JSON and in words.

use tidewire::CaptureLoss;

use crate::{error, output::Object, units::Count};

/// Appends the member `capture_losses`, if anything was lost.
pub fn push_json(object: &mut Object<'_>, losses: &[CaptureLoss]) {
    if losses.is_empty() {
        return;
    }
    object.array("capture_losses", losses, |out, loss| {
        let mut object = Object::open(out);
        object.text("interface", &loss.interface);
        object.number("interface_dropped", loss.interface_dropped);
        object.number("system_dropped", loss.system_dropped);
        object.number("between_packets", loss.between_packets);
        object.close();
    });
}

/// Reports losses by interface.
pub fn say(losses: &[CaptureLoss]) {
    for loss in losses {
        error::notify(words(loss));
    }
}

fn words(loss: &CaptureLoss) -> String {
    let places = [
        (loss.interface_dropped, "dropped by the interface"),
        (loss.system_dropped, "dropped by its system"),
        (loss.between_packets, "missing between its packets"),
    ];
    let parts: Vec<_> = places
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| format!("{} {place}", Count(*count)))
        .collect();
    let interface = if loss.interface.is_empty() { "an interface" } else { &loss.interface };
    format!("packets of {interface} were lost by the capture, as its file says: {}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counts_that_are_not_zero_are_named() {
        let mut loss = CaptureLoss::default();
        (loss.interface, loss.system_dropped, loss.between_packets) = ("eth0".into(), 45, 7);
        let expected = "packets of eth0 were lost by the capture, as its file says: 45 dropped by its system, 7 missing between its packets";
        assert_eq!(words(&loss), expected);
    }
}
