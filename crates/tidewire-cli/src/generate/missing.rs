use std::{ops::Range, path::PathBuf};

use clap::Args;
use tidewire::{Block, Source};
use tidewire_gen::number::{self, Numbers};

use super::sending::count;
use crate::{
    error::{self, CliError},
    output::{Object, Out, push_number},
    units::Count,
};

/// Find sent frames that are missing in captures
///
/// Reads the numbers at the end of frames that 'tidewire gen' sent. Exit status 1 if frames are missing.
#[derive(Args, Debug)]
pub struct Options {
    /// Captures of the received frames; several are combined. - is standard input
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,

    /// Number of frames sent. Without it the greatest number received counts: frames lost after it are not detected
    #[arg(short = 'c', long, value_name = "N", value_parser = count)]
    packets: Option<u64>,

    /// Print at most N ranges
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<u8, CliError> {
    let input = |error: tidewire_files::Error| CliError::Input(error.to_string());
    let mut numbers = Numbers::default();
    let mut without = 0;
    for path in &options.captures {
        let mut source = tidewire_files::open(std::slice::from_ref(path)).map_err(input)?;
        let mut block = Block::new();
        while source.fill(&mut block).map_err(input)? {
            let batch = block.batch();
            for frame in batch.frames {
                // A truncated frame has lost its number.
                let whole = frame.captured_bytes == frame.wire_bytes;
                match number::of(batch.bytes(frame)).filter(|_| whole) {
                    Some(number) => numbers.add(number),
                    None => without += 1,
                }
            }
        }
    }
    let sent = options.packets.unwrap_or_else(|| numbers.end());
    let lost = numbers.lost(sent);
    let is_without = numbers.received() == 0 && without > 0;
    if is_without {
        error::notify("no numbered frames found: expected captures of whole frames that 'tidewire gen' sent");
    }
    if numbers.end() > sent {
        let last = Count(numbers.end() - 1);
        error::notify(format_args!(
            "number {last} arrived: more than {} frames were sent, or by another run",
            Count(sent)
        ));
    }
    let mut out = Out::stdout();
    let holes: Vec<Range<u64>> = numbers.missing(sent).take(options.limit).collect();
    if options.json {
        let mut object = Object::open(out.buffer());
        object.number("sent", sent);
        object.truth("sent_is_inferred", options.packets.is_none());
        object.number("arrived", numbers.received());
        object.number("missing", lost);
        object.number("repeated", numbers.repeated);
        object.number("late", numbers.late);
        object.number("without_number", without);
        object.array("holes", holes, |out, hole| {
            out.push(b'[');
            push_number(out, hole.start);
            out.push(b',');
            push_number(out, hole.end - 1);
            out.push(b']');
        });
        object.close();
        out.line("")?;
    } else {
        print(&mut out, &numbers, [sent, lost, without], options.packets.is_none(), &holes)?;
    }
    out.flush()?;
    Ok(if lost > 0 || is_without { error::NOT_FOUND } else { error::OK })
}

fn print(
    out: &mut Out,
    numbers: &Numbers,
    counts: [u64; 3],
    is_inferred: bool,
    holes: &[Range<u64>],
) -> Result<(), CliError> {
    let [sent, lost, without] = counts;
    if is_inferred {
        let (name, count) = ("sent, inferred", Count(sent).to_string());
        out.line(&format!("{name:<24}{count:>16}  from the last number that arrived; -c N: N were sent"))?;
    } else {
        out.line(&format!("{:<24}{:>16}", "sent", Count(sent).to_string()))?;
    }
    let lines = [
        ("arrived", numbers.received(), true),
        ("missing", lost, true),
        ("repeated", numbers.repeated, false),
        ("late", numbers.late, false),
        ("without number", without, false),
    ];
    for (name, count, _) in lines.into_iter().filter(|(_, count, always)| *always || *count > 0) {
        out.line(&format!("{name:<24}{:>16}", Count(count).to_string()))?;
    }
    let mut shown = 0;
    for hole in holes {
        let last = hole.end - 1;
        let text = if hole.start == last { last.to_string() } else { format!("{} to {last}", hole.start) };
        out.line(&format!("  missing: {text}"))?;
        shown += hole.end - hole.start;
    }
    if shown < lost {
        out.line(&format!("  and {} more", Count(lost - shown)))?;
    }
    Ok(())
}
