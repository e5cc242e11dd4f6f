//! The report of sent traffic, as table and JSON.

use tidewire_gen::{Report, RunEnd, Sender};

use crate::{
    error::CliError,
    output::{Object, Out},
    units::{Bytes, Count},
};

fn why(ended: RunEnd) -> &'static str {
    match ended {
        RunEnd::Done => "done",
        RunEnd::Duration => "duration",
        RunEnd::Stopped => "stopped",
    }
}

/// As a JSON object.
pub fn push_json(out: &mut Vec<u8>, report: &Report) {
    let mut object = Object::open(out);
    object.plain("sender", report.sender.name());
    match &report.fallback {
        Some(why) => object.text("fallback", why),
        None => object.null("fallback"),
    }
    object.plain("ended", why(report.ended));
    object.number("packets", report.packets);
    object.number("bytes", report.bytes);
    object.number("cable_bits", report.cable_bits);
    object.number("elapsed_ns", u64::try_from(report.elapsed.as_nanos()).unwrap_or(u64::MAX));
    object.number("packets_per_s", report.packets_per_s() as u64);
    object.number("cable_bits_per_s", report.cable_bits_per_s() as u64);
    object.number("arrived", report.arrived());
    object.number("dropped", report.dropped());
    object.number("failed", report.failed);
    object.number("refused", report.refused);
    object.number("late", report.late);
    object.array("interfaces", &report.interfaces, |out, sent| {
        let mut object = Object::open(out);
        object.text("name", &sent.interface);
        object.number("packets", sent.packets);
        object.number("tx_packets", sent.counted.tx_packets);
        object.number("tx_dropped", sent.counted.tx_dropped);
        object.key("unaccounted").extend_from_slice(sent.unaccounted().to_string().as_bytes());
        object.close();
    });
    object.object("traffic", |traffic| {
        for (name, count) in &report.tally {
            traffic.number(name, *count);
        }
    });
    object.close();
}

/// As a table.
pub fn print(out: &mut Out, report: &Report) -> Result<(), CliError> {
    let mut line = |name: &str, count: u64, note: &str| {
        let note = if note.is_empty() { String::new() } else { format!("  {note}") };
        out.line(&format!("{name:<24}{:>16}{note}", Count(count).to_string()))
    };
    let how = match report.sender {
        Sender::Kernel => "from the kernel",
        _ => "by a packet socket",
    };
    let rate = report.packets_per_s() / 1e6;
    let bits = report.cable_bits_per_s() / 1e9;
    let seconds = report.elapsed.as_secs_f64();
    line("sent", report.packets, &format!("{how}, {} in {seconds:.2} s", Bytes(report.bytes)))?;
    line("  a second", report.packets_per_s() as u64, &format!("{rate:.3} Mpps, {bits:.3} Gbit/s on the cable"))?;
    for sent in &report.interfaces {
        let share = if report.interfaces.len() > 1 { format!("of {}", Count(sent.packets)) } else { String::new() };
        line(&format!("  {} sent", sent.interface), sent.counted.tx_packets, &share)?;
        line(&format!("  {} dropped", sent.interface), sent.counted.tx_dropped, "no room at the other end")?;
        if sent.unaccounted() != 0 {
            let note = match sent.unaccounted() > 0 {
                true => "neither sent nor dropped: does the interface take frames from XDP programs?",
                false => "more than was given to it: another sender on this interface?",
            };
            line(&format!("  {} unaccounted", sent.interface), sent.unaccounted().unsigned_abs(), note)?;
        }
    }
    for (name, count) in &report.tally {
        line(&name.replace('_', " "), *count, "")?;
    }
    let problems = [
        ("failed", report.failed, "frames could not be made"),
        ("refused", report.refused, "times there was no room, and the frame was offered again"),
        ("late", report.late, "times the sender was held up for longer than it makes up for"),
    ];
    for (name, count, note) in problems.into_iter().filter(|one| one.1 > 0) {
        line(name, count, note)?;
    }
    if let Some(why) = &report.fallback {
        out.line(&format!("not from the kernel: {why}"))?;
    }
    if report.ended == RunEnd::Stopped {
        out.line("stopped before the end")?;
    }
    Ok(())
}
