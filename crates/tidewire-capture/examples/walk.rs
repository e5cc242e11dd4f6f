//! Reads captures, merged where there are several, and does nothing else: what reading costs, and a filter.
//! `cargo run --release --example walk -- [-f EXPRESSION] FILE...`

use std::{path::PathBuf, process::ExitCode};
use tidewire_capture::{Block, Filter, Filtered, Source, open};

fn main() -> ExitCode {
    let mut arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut expression = String::new();
    if arguments.len() >= 2 && arguments[0].as_os_str() == "-f" {
        expression = arguments[1].to_string_lossy().into_owned();
        arguments.drain(..2);
    }
    let source = open(&arguments).and_then(|source| -> Result<Box<dyn Source>, _> {
        if expression.is_empty() { Ok(source) } else { Ok(Box::new(Filtered::new(source, Filter::new(&expression)?))) }
    });
    let mut source = match source {
        Ok(source) => source,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let (mut packets, mut block, mut exit) = (0, Block::new(), ExitCode::SUCCESS);
    loop {
        match source.fill(&mut block) {
            Ok(true) => packets += block.batch().frames.len(),
            Ok(false) => break,
            Err(error) => {
                eprintln!("{error}");
                exit = ExitCode::FAILURE;
            }
        }
    }
    println!("{packets} packets");
    exit
}
