//! A process that emits.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tidewire_event_socket::Events;

use crate::{Failure, flood::Flood};

/// Events between two looks at the clock.
const STEP: u64 = 64;

/// Emits for some seconds: number, socket, flood, seconds. Prints how many events were acknowledged, and in how many seconds.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let [number, socket, flood, seconds] = arguments else { return Err("four arguments".into()) };
    let (number, seconds): (u64, u64) = (number.parse()?, seconds.parse()?);
    let flood = Flood::by_name(flood).ok_or("no such flood")?;
    let name = format!("analyzer-{number}");
    let events = Events::connect(Path::new(socket), &name)?;
    events.set_wait_limit(Duration::from_secs(60));
    let mut event = flood.first(&name);
    let (begun, limit) = (Instant::now(), Duration::from_secs(seconds));
    let epoch_ns = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let mut at = 0_u64;
    while begun.elapsed() < limit {
        let now = begun.elapsed().as_nanos() as u64;
        for step in 0..STEP {
            // As packets have them: each later than the one before, not evenly.
            event.time_ns = epoch_ns + now + step * 800 + (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56);
            flood.change(&mut event, number, at);
            events.emit(&event)?;
            at += 1;
        }
    }
    events.flush(Duration::from_secs(120))?;
    let counts = events.counts();
    println!("{} {}", counts.acknowledged, begun.elapsed().as_secs_f64());
    Ok(())
}
