//! Loss against rate with some microseconds of work for each packet in the capturing process: NCAP's figure 2 and its appendix.

use crate::{
    live::{
        Load, Measurement,
        measurement::measure,
        testbed::{Receiving, Testbed},
        tools::Tools,
    },
    plot::Plot,
    program::Program,
    report::{Goal, Section, Table, percent},
    sensor::settings::Settings,
};

/// Work for each packet, microseconds.
pub(super) const WORK_US: [u64; 3] = [10, 5, 3];
/// The rates of the paper's table, packets a second.
const RATES: [f64; 14] = [
    45_871.0, 59_259.0, 71_942.0, 77_519.0, 84_033.0, 91_532.0, 100_755.0, 112_044.0, 125_786.0, 143_884.0, 168_067.0,
    201_005.0, 245_398.0, 325_203.0,
];
/// Memory of the rings: libpcap's default. A larger one would hide the loss of a short run.
pub(super) const RING_BYTES: u64 = 2 << 20;

/// The rates to be measured.
pub(super) fn rates(settings: &Settings) -> Vec<f64> {
    RATES.iter().copied().skip(1).step_by(if settings.quick { 6 } else { 2 }).collect()
}

/// Packets of the paper's table: 1,434 bytes (525 Mbit/s at 45,871 a second), of 1,000 flows.
pub(super) fn load(settings: &Settings, rate: f64) -> Load {
    Load::udp(1000, 1434, rate, if settings.quick { 0.7 } else { 1.0 })
}

fn programs(settings: &Settings) -> Result<Vec<Program>, String> {
    let tools = Tools::new(&settings.programs);
    let ring = RING_BYTES.to_string();
    let mut programs = Vec::new();
    for work in WORK_US {
        let nanoseconds = format!("{}ns", work * 1000);
        let options = ["--engine", "packet", "--ring", &ring, "--json", "--work", &nanoseconds];
        programs.push(tools.tidewire(&format!("tidewire, {work} µs"), "count", &options)?);
        programs.push(tools.pcap_loop(&format!("libpcap, {work} µs"), work * 1000, RING_BYTES)?);
    }
    Ok(programs)
}

/// The share of the program's time that it spends in system calls.
fn system(measured: &Measurement) -> f64 {
    measured.cpu * (1.0 - measured.cpu_user)
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Figure 2 and appendix: loss against rate, work inline".into(),
        text: "Each packet costs the capturing program 10, 5 or 3 µs. Frames of 1,434 bytes, as in the paper's table, of 1,000 \
               flows, over a veth pair; rings of 2 MiB, libpcap's default. In parentheses: share of the time that the program \
               spent in system calls, by the kernel's ticks of 10 ms. With 10 µs no program can hold more than 100,000 packets \
               a second."
            .into(),
        ..Section::default()
    };
    let programs = programs(settings)?;
    let rates = rates(settings);
    let mut measured: Vec<Vec<Option<Measurement>>> = Vec::new();
    Testbed::inside(Receiving::Sender, |testbed| {
        for program in &programs {
            let command = program.command();
            let command =
                command.rsplit_once("/tidewire").map_or(command.clone(), |(_, rest)| format!("tidewire{rest}"));
            let command =
                command.rsplit_once("/pcap-loop").map_or(command.clone(), |(_, rest)| format!("pcap-loop{rest}"));
            section.commands.push((program.name.clone(), command));
            let mut row = Vec::new();
            for &rate in &rates {
                let one = measure(testbed, std::slice::from_ref(program), &load(settings, rate))?;
                eprintln!("bench-sensor:   {} at {rate:.0}: lost {} %", program.name, percent(one.loss));
                if let Some(why) = &one.failed {
                    section.skipped.push(format!("{} at {rate:.0}: {why}", program.name));
                }
                section.points.push(serde_json::to_value(&one).map_err(|error| error.to_string())?);
                row.push(one.failed.is_none().then_some(one));
            }
            measured.push(row);
        }
        Ok(())
    })?;
    let mut columns = vec!["offered, packets a second", "Mbit/s"];
    columns.extend(programs.iter().map(|program| program.name.as_str()));
    let mut table = Table::new("Lost, % (system calls, %)", &columns);
    for (index, rate) in rates.iter().enumerate() {
        let mut line = vec![format!("{rate:.0}"), format!("{:.0}", rate * 1434.0 * 8.0 / 1e6)];
        for row in &measured {
            let one = row.get(index).and_then(Option::as_ref);
            line.push(one.map_or("–".into(), |one| format!("{} ({:.1})", percent(one.loss), system(one) * 100.0)));
        }
        table.lines.push(line);
    }
    section.tables.push(table);
    section.plots.push(plot(&programs, &rates, &measured));
    section.goals.extend(goals(&measured));
    Ok(section)
}

fn plot(programs: &[Program], rates: &[f64], measured: &[Vec<Option<Measurement>>]) -> Plot {
    let curve = |(program, row): (&Program, &Vec<Option<Measurement>>)| {
        let points = rates.iter().zip(row).filter_map(|(rate, one)| Some((*rate, one.as_ref()?.loss * 100.0)));
        (program.name.clone(), points.collect())
    };
    Plot {
        file: "inline".into(),
        title: "Figure 2: loss against rate, work in the capturing process".into(),
        axes: ["packets a second".into(), "lost, %".into()],
        y_max: Some(100.0),
        curves: programs.iter().zip(measured).map(curve).collect(),
        ..Plot::default()
    }
}

/// Tidewire loses no more than libpcap, summed over the rates: programs stand in pairs.
fn goals(measured: &[Vec<Option<Measurement>>]) -> Vec<Goal> {
    let mean = |row: &[Option<Measurement>]| {
        let sum = row.iter().map(|one| one.as_ref().map(|one| one.loss)).sum::<Option<f64>>();
        sum.map(|sum| sum / row.len().max(1) as f64)
    };
    let pairs = WORK_US.iter().zip(measured.chunks_exact(2));
    pairs
        .map(|(work, pair)| {
            let both = mean(&pair[0]).zip(mean(&pair[1]));
            Goal {
                work: Some([format!("inline, {work} µs a packet: lost, mean over the rates"), "libpcap".into()]),
                wanted: "no more".into(),
                figure: both.map_or("no figure".into(), |(ours, theirs)| {
                    format!("{} % against {} %", percent(ours), percent(theirs))
                }),
                // Repeated measurements differ by a percent.
                met: both.map(|(ours, theirs)| ours <= theirs * 1.01 + 0.001),
            }
        })
        .collect()
}
