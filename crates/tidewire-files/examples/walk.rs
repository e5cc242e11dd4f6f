//! Reads captures, merged where there are several, and does nothing else: what reading costs, and a filter.
//! `cargo run --release -p tidewire-live --example walk -- [-f EXPRESSION] FILE...`

use std::{error::Error, path::PathBuf, process::ExitCode};

use tidewire_files::{Block, open};
use tidewire_filter::Filter;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut filter = None;
    if arguments.len() >= 2 && arguments[0].as_os_str() == "-f" {
        filter = Some(Filter::new(&arguments[1].to_string_lossy())?);
        arguments.drain(..2);
    }
    let mut source = open(&arguments)?;
    let (mut packets, mut block, mut exit) = (0, Block::new(), ExitCode::SUCCESS);
    loop {
        match source.fill(&mut block) {
            Ok(true) => {
                let batch = block.batch();
                packets += match &mut filter {
                    None => batch.frames.len(),
                    Some(filter) => {
                        let mut wanted = 0;
                        for frame in batch.frames {
                            wanted += usize::from(filter.matches(frame.link, batch.bytes(frame), frame.wire_bytes)?);
                        }
                        wanted
                    }
                };
            }
            Ok(false) => break,
            Err(error) => {
                eprintln!("{error}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    println!("{packets} packets");
    Ok(exit)
}
