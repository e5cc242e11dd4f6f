//! Cutoff 0 in the kernel against the same job in user space, as Scap's figure 3.

use crate::live::series::{available, held, limit, series};
use crate::{
    live::{
        measurement::{Load, Measurement},
        settings::Settings,
        sweep::{Plan, Series, Verdict},
        testbed::Testbed,
        tools::{Maybe, softflowd, tcpdump},
    },
    plot::Plot,
    report::{Goal, Section, Table, percent, rate},
};

/// 10 Gbit/s of the smallest frames, packets a second.
const LINE_RATE: f64 = 1e10 / (84.0 * 8.0);
/// Packets per second.
const RATES: [f64; 9] = [250e3, 500e3, 1e6, 1.5e6, 2.2e6, 3.3e6, 5e6, 8e6, LINE_RATE];

/// New flows per second, where flows are introduced before measuring.
const GREETING: f64 = 200e3;

/// Programs that goals refer to.
const KERNEL: &str = "tidewire, cutoff 0 in the kernel";
const NO_PROGRAM: &str = "no program";

fn kernel(settings: &Settings) -> Maybe {
    let options =
        ["--tap", "--engine", "xdp", "--cutoff", "0", "--kernel-flows", "2097152", "--csv", "--stats", "json"];
    settings.tools.tidewire(KERNEL, "flows", &options)
}

fn programs(settings: &Settings) -> Vec<Maybe> {
    let user = ["--engine", "packet", "--cutoff", "0", "--kernel-flows", "0", "--csv", "--stats", "json"];
    vec![
        kernel(settings),
        settings.tools.tidewire("tidewire, in user space", "flows", &user),
        settings.tools.libnids("libnids, flows", "flows", &[]),
        softflowd(),
        tcpdump(),
    ]
}

pub(super) fn run(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Flow statistics with cutoff 0: in the kernel, and in user space".into(),
        text: "64-byte frames of 1,000 active flows in random order. After a flow's first packet the XDP program counts and \
               drops the rest; flows are printed at the end, and their packets and bytes must add up to what was sent."
            .into(),
        ..Section::default()
    };
    let programs = available(programs(settings), &mut section);
    let mut rates = RATES.to_vec();
    if settings.quick {
        rates = vec![500e3, 1.5e6, 4.5e6, LINE_RATE];
    }
    let plan =
        Plan { rates, halvings: if settings.quick { 1 } else { 2 }, again: 1, beyond: usize::from(!settings.quick) };
    let load = Load::udp(1000, 64, 0.0, settings.seconds());
    let mut found = Vec::new();
    Testbed::inside(settings.receiving, |testbed| {
        for program in &programs {
            found.push((program.name.clone(), series(testbed, Some(program), &load, &plan, &mut section)?));
        }
        // The kernel's own cost without a listener, at the same rates.
        let rates = plan.rates.iter().copied().filter(|rate| *rate <= 3.3e6).collect();
        let idle = Plan { rates, halvings: 0, again: 0, beyond: usize::MAX };
        found.push((NO_PROGRAM.into(), series(testbed, None, &load, &idle, &mut section)?));
        Ok(())
    })?;
    section.tables.push(table(&found));
    section.plots.extend(plots(&found));
    section.goals.extend(goals(&found));
    Ok(section)
}

type Found = (String, Series<Measurement>);

fn table(found: &[Found]) -> Table {
    let columns = [
        "program",
        "offered",
        "lost %",
        "interface %",
        "ring %",
        "CPU %",
        "softirq %",
        "softirq above the baseline %",
        "sums",
    ];
    let mut table = Table::new("Loss and CPU by rate", &columns);
    let idle = found.iter().find(|(name, _)| name == NO_PROGRAM).map(|(_, series)| series);
    for (name, series) in found {
        for (wanted, point) in &series.points {
            let others = idle.and_then(|idle| idle.points.iter().find(|(rate, _)| rate == wanted));
            let beyond = others.filter(|_| name != NO_PROGRAM).map(|(_, idle)| (point.softirq - idle.softirq) * 100.0);
            let share = |count: u64| percent(count as f64 / point.offered.max(1) as f64);
            let sums = point.exact.map_or("", |exact| if exact { "exact" } else { "WRONG" });
            table.lines.push(vec![
                name.clone(),
                rate(point.offered_pps),
                if name == NO_PROGRAM { String::new() } else { percent(point.loss) },
                share(point.lost_interface),
                share(point.lost_ring),
                percent(point.cpu),
                percent(point.softirq),
                beyond.map_or(String::new(), |points| format!("{points:+.0}")),
                sums.into(),
            ]);
        }
        if name != NO_PROGRAM {
            let held = format!("**holds {}**", limit(series));
            table.lines.push([vec![name.clone(), held], vec![String::new(); 7]].concat());
        }
    }
    table
}

fn plots(found: &[Found]) -> Vec<Plot> {
    let plot = |file: &str, title: &str, y: &str, of: &dyn Fn(&Measurement) -> f64, all: bool| Plot {
        file: file.into(),
        title: title.into(),
        axes: ["million packets a second".into(), y.into()],
        x_by_factors: true,
        y_max: Some(100.0),
        curves: found
            .iter()
            .filter(|(name, _)| all || name != NO_PROGRAM)
            .map(|(name, series)| {
                let points = series.points.iter().map(|(_, point)| (point.offered_pps / 1e6, of(point)));
                (name.clone(), points.collect())
            })
            .collect(),
        ..Plot::default()
    };
    vec![
        plot("cutoff-loss", "Cutoff 0: packets lost", "lost, %", &|point| point.loss * 100.0, false),
        plot("cutoff-cpu", "Cutoff 0: CPU of the process", "CPU, % of a core", &|point| point.cpu * 100.0, false),
        plot(
            "cutoff-softirq",
            "Cutoff 0: soft interrupt load",
            "softirq, % of a core",
            &|point| point.softirq * 100.0,
            true,
        ),
    ]
}

fn goals(found: &[Found]) -> Vec<Goal> {
    let Some((_, ours)) = found.iter().find(|(name, series)| name == KERNEL && !series.points.is_empty()) else {
        return Vec::new();
    };
    let most = held(ours);
    let exact = ours.points.iter().filter(|(_, point)| point.loss == 0.0).all(|(_, point)| point.exact == Some(true));
    let mut goals = vec![Goal {
        work: None,
        wanted: "no loss at 14.88 Mpps (10 Gbit/s of 64-byte frames), 1,000 active flows, exact sums".into(),
        figure: format!("holds {}, sums {}", limit(ours), if exact { "exact" } else { "WRONG" }),
        met: Some(most >= LINE_RATE * 0.995 && exact),
    }];
    for (name, theirs) in found.iter().filter(|(name, _)| name != KERNEL && name != NO_PROGRAM) {
        // The greatest rate that the peer held and that Tidewire was measured at.
        let pair = theirs.points.iter().rev().filter(|(_, point)| point.verdict() == Verdict::Held).find_map(
            |(wanted, theirs)| Some((ours.points.iter().find(|(rate, _)| rate == wanted).map(|pair| &pair.1)?, theirs)),
        );
        let Some((ours, theirs)) = pair else { continue };
        let ratio = ours.cpu / theirs.cpu.max(1e-9);
        let both = (ours.cpu + ours.softirq) / (theirs.cpu + theirs.softirq).max(1e-9);
        goals.push(Goal {
            work: None,
            wanted: format!("less than a tenth of the CPU of {name}, at a rate that it still holds"),
            figure: format!(
                "{} % against {} % at {}: {ratio:.3} × (process and softirq together: {both:.2} ×)",
                percent(ours.cpu),
                percent(theirs.cpu),
                rate(theirs.offered_pps)
            ),
            met: Some(ratio < 0.1),
        });
    }
    goals
}

/// The rate without loss by the number of flows.
pub(super) fn by_flows(settings: &Settings) -> Result<Section, String> {
    let mut section = Section {
        title: "Cutoff 0 in the kernel: active flows".into(),
        text: "The same by the number of active flows, each packet of any of them. Flows are introduced before, with a packet \
               of each at 200,000 a second, which the sums include. The map's entries no longer fit the caches \
               from some ten thousand flows on, and XDP cannot prefetch."
            .into(),
        ..Section::default()
    };
    let Some(program) = available(vec![kernel(settings)], &mut section).pop() else { return Ok(section) };
    let powers: Vec<u32> = if settings.quick { vec![3, 5] } else { (2..=6).collect() };
    let mut table =
        Table::new("Rate held without loss", &["flows", "rate", "CPU %", "softirq %", "ns a packet, softirq", "sums"]);
    let mut curve = Vec::new();
    let rates = if settings.quick { vec![1e6, 4e6, LINE_RATE] } else { vec![1e6, 2e6, 4e6, 7e6, 10e6, LINE_RATE] };
    let plan = Plan { rates, halvings: if settings.quick { 1 } else { 2 }, again: 1, beyond: 0 };
    Testbed::inside(settings.receiving, |testbed| {
        for power in powers {
            let flows = 10_u64.pow(power);
            let seconds = settings.seconds();
            let load = Load { warm_up_pps: GREETING, ..Load::udp(flows, 64, 0.0, seconds) };
            let found = series(testbed, Some(&program), &load, &plan, &mut section)?;
            let best = found.points.iter().rev().find(|(_, point)| point.holds()).map(|(_, point)| point);
            let cell = |of: &dyn Fn(&Measurement) -> String| best.map_or("–".into(), of);
            table.lines.push(vec![
                flows.to_string(),
                limit(&found),
                cell(&|point| percent(point.cpu)),
                cell(&|point| percent(point.softirq)),
                cell(&|point| format!("{:.0}", point.softirq * point.seconds * 1e9 / point.offered.max(1) as f64)),
                cell(&|point| point.exact.map_or("", |exact| if exact { "exact" } else { "WRONG" }).into()),
            ]);
            curve.push((flows as f64, held(&found) / 1e6));
        }
        Ok(())
    })?;
    section.tables.push(table);
    section.plots.push(Plot {
        file: "flows".into(),
        title: "Cutoff 0 in the kernel: rate held without loss".into(),
        axes: ["active flows".into(), "million packets a second".into()],
        x_by_factors: true,
        curves: vec![(KERNEL.into(), curve)],
        ..Plot::default()
    });
    Ok(section)
}
