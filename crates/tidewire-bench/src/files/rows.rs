//! The rows of the table: which programs are compared, and the goals.

use std::path::{Path, PathBuf};

use super::traces::Traces;
use crate::program::Program;

/// The goal of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Tidewire takes at most this many times the other's time.
    AtMost(f64),
    /// The other takes at least this many times Tidewire's time.
    AtLeast(f64),
    /// No goal: the other is shown for comparison.
    None,
}

/// Which figure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// CPU seconds.
    Cpu,
    /// Wall seconds.
    Wall,
    /// CPU seconds for each packet: the two traces differ.
    CpuPerPacket,
}

/// Tidewire against others on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// A short name, by which rows are selected.
    pub id: String,
    /// The task.
    pub title: String,
    /// The trace that Tidewire runs on.
    pub trace: PathBuf,
    /// Tidewire.
    pub ours: Program,
    /// The other programs, the trace each runs on where that is a different one, and the goal.
    pub others: Vec<(Program, Option<PathBuf>, Bound)>,
    /// The quantity compared.
    pub figure: Figure,
    /// A bound on Tidewire's own memory.
    pub memory_goal_bytes: Option<u64>,
}

/// Paths of the programs.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The `tidewire` command.
    pub tidewire: String,
    /// The `tidewire-bench` command.
    pub bench: String,
    /// The reading floor.
    pub floor: String,
    /// libnids and its handlers; `None` where it could not be built.
    pub nids: Option<String>,
    /// A folder for what programs write.
    pub scratch: PathBuf,
    /// The 2,000 patterns.
    pub patterns: String,
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

impl Tools {
    fn count(&self, name: &str, trace: &Path, more: &[&str]) -> Program {
        let trace = text(trace);
        Program::new(name, &[&[self.bench.as_str(), "count", &trace], more].concat())
    }

    fn floor(&self, trace: &Path) -> Program {
        Program::new("reading floor", &[&self.floor, &text(trace)])
    }

    fn nids(&self, name: &str, trace: &Path, more: &[&str]) -> Option<Program> {
        let trace = text(trace);
        let nids = self.nids.as_deref()?;
        Some(Program::new(name, &[&[nids, trace.as_str()], more].concat()).peer())
    }

    fn flow_exporters(&self, trace: &Path) -> [Program; 3] {
        let trace = &text(trace);
        let folder = |name: &str| self.scratch.join(name);
        let softflowd =
            ["softflowd", "-d", "-r", trace, "-n", "127.0.0.1:9995", "-v", "10", "-m", "1000000", "-c", "none"];
        let (nfdump, argus) = (folder("nfpcapd"), folder("argus"));
        [
            Program::new("softflowd", &softflowd).peer(),
            Program::new("nfpcapd", &["nfpcapd", "-r", trace, "-w", &text(&nfdump)]).scratch(&nfdump).peer(),
            Program::new("argus", &["argus", "-X", "-r", trace, "-w", &text(&argus.join("out"))])
                .scratch(&argus)
                .peer(),
        ]
    }

    fn command(&self, name: &str, words: &[&str]) -> Program {
        Program::new(name, &[&[self.tidewire.as_str()], words].concat())
    }
}

fn row(id: &str, title: &str, trace: &Path, ours: Program) -> Row {
    Row {
        id: id.into(),
        title: title.into(),
        trace: trace.into(),
        ours,
        others: Vec::new(),
        figure: Figure::Cpu,
        memory_goal_bytes: None,
    }
}

impl Row {
    fn against(mut self, program: impl Into<Option<Program>>, goal: Bound) -> Self {
        self.others.extend(program.into().map(|program| (program, None, goal)));
        self
    }

    fn against_on(mut self, program: Program, trace: &Path, goal: Bound) -> Self {
        self.others.push((program, Some(trace.into()), goal));
        self
    }
}

/// All rows that the traces allow.
#[must_use]
pub fn rows(tools: &Tools, traces: &Traces) -> Vec<Row> {
    let mut rows = Vec::new();
    if let (Some(big), Some(lossy)) = (&traces.big, &traces.lossy) {
        streams(tools, big, lossy, &mut rows);
    }
    let many = &traces.concurrent;
    let [softflowd, _, _] = tools.flow_exporters(many);
    rows.push(
        row("100k", "100k: counted, checksums ignored", many, tools.count("tidewire", many, &[]))
            .against(tools.floor(many), Bound::AtMost(2.5))
            .against(tools.nids("libnids", many, &["count", "--no-checksums"]), Bound::AtLeast(5.0))
            .against(softflowd, Bound::AtLeast(7.0)),
    );
    if let Some(real) = &traces.real {
        rows.push(
            row("real", "real: counted, checksums ignored", real, tools.count("tidewire", real, &[]))
                .against(tools.floor(real), Bound::AtMost(1.7))
                .against(tools.nids("libnids", real, &["count", "--no-checksums"]), Bound::AtLeast(2.8)),
        );
    }
    if let Some(big) = &traces.big {
        workers(tools, big, &mut rows);
        commands(tools, big, &mut rows);
    }
    let Some((_, benign)) = traces.worst.first() else { return rows };
    for (kind, trace) in traces.worst.iter().skip(1) {
        let title = format!("worst case: {}, per packet", kind.name());
        let reference = tools.count("tidewire, benign", benign, &["--verify"]);
        let ours = tools.count("tidewire", trace, &["--verify"]);
        let row = row(kind.name(), &title, trace, ours).against_on(reference, benign, Bound::AtMost(4.0));
        rows.push(Row { figure: Figure::CpuPerPacket, ..row });
    }
    rows
}

fn streams(tools: &Tools, big: &Path, lossy: &Path, rows: &mut Vec<Row>) {
    let command = ["streams", &text(big), "--limit", "0", "--checksum", "ignore"];
    rows.push(
        row("big", "big: counted, checksums ignored", big, tools.count("tidewire", big, &[]))
            .against(tools.floor(big), Bound::AtMost(1.3))
            .against(tools.nids("libnids", big, &["count", "--no-checksums"]), Bound::AtLeast(2.1))
            .against(tools.command("tidewire streams --limit 0", &command), Bound::None),
    );
    rows.push(
        row("verified", "big: counted, checksums verified", big, tools.count("tidewire", big, &["--verify"]))
            .against(tools.floor(big), Bound::AtMost(1.6))
            .against(tools.nids("libnids", big, &["count"]), Bound::AtLeast(2.6)),
    );
    let row = row("lossy", "lossy: counted, checksums ignored", lossy, tools.count("tidewire", lossy, &[]))
        .against_on(tools.count("tidewire, big", big, &[]), big, Bound::AtMost(1.15))
        .against(tools.nids("libnids", lossy, &["count", "--no-checksums"]), Bound::None);
    rows.push(Row { memory_goal_bytes: Some(64 << 20), ..row });
}

fn workers(tools: &Tools, big: &Path, rows: &mut Vec<Row>) {
    let matching = |jobs: &str| ["match", &text(big), "-f", &tools.patterns, "-j", jobs, "--json"].map(str::to_owned);
    let program = |name: &str, jobs: &str| {
        let words = matching(jobs);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        tools.command(name, &words).unpinned()
    };
    let row_match = row("match-j2", "match, 2,000 patterns, -j 2: wall", big, program("tidewire -j 2", "2"))
        .against(program("tidewire -j 1", "1"), Bound::AtLeast(1.7));
    rows.push(Row { figure: Figure::Wall, ..row_match });
    let counting = |name: &str, jobs: &str| tools.count(name, big, &["--jobs", jobs]).unpinned();
    let row_count = row("count-j2", "counting, -j 2: wall", big, counting("tidewire -j 2", "2"))
        .against(counting("tidewire -j 1", "1"), Bound::AtLeast(1.0));
    rows.push(Row { figure: Figure::Wall, ..row_count });
}

fn commands(tools: &Tools, big: &Path, rows: &mut Vec<Row>) {
    let trace = text(big);
    // The peers verify no checksums; a second program shows the cost of doing so.
    let ignoring = tools.command("tidewire flows --json", &["flows", &trace, "--json", "--checksum", "ignore"]);
    let verifying = tools.command("tidewire flows, checksums verified", &["flows", &trace, "--json"]);
    let [softflowd, nfpcapd, argus] = tools.flow_exporters(big);
    rows.push(
        row("flows", "flow records (as JSON), checksums ignored", big, ignoring)
            .against(softflowd, Bound::AtLeast(2.5))
            .against(nfpcapd, Bound::AtLeast(2.5))
            .against(argus, Bound::AtLeast(2.5))
            .against(verifying, Bound::None),
    );
    let (ours, theirs) = (tools.scratch.join("extract"), tools.scratch.join("tcpflow"));
    let words = ["extract", &trace, "-o", &text(&ours), "-F", "tcp"];
    let digests = tools.command("tidewire extract", &words);
    let plain = tools.command("tidewire extract --digest none", &[&words[..], &["--digest", "none"]].concat());
    let tcpflow =
        || Program::new("tcpflow", &["tcpflow", "-q", "-r", &trace, "-o", &text(&theirs)]).scratch(&theirs).peer();
    let title = "extract every stream to files on tmpfs, with SHA-256";
    rows.push(row("extract", title, big, digests.scratch(&ours)).against(tcpflow(), Bound::AtLeast(2.0)));
    let title = "extract every stream to files on tmpfs, no digests";
    rows.push(row("extract-plain", title, big, plain.scratch(&ours)).against(tcpflow(), Bound::AtLeast(2.0)));
    let words = ["match", &trace, "-f", &tools.patterns, "--json"];
    let nids = || tools.nids("libnids, same matcher", big, &["match", "--patterns", &tools.patterns]);
    let all = tools.command("tidewire match --json", &words);
    rows.push(row("match", "match, 2,000 patterns (libnids sees IPv4 only)", big, all).against(nids(), Bound::None));
    let same = tools.command("tidewire match --json -F ip", &[&words[..], &["-F", "ip"]].concat());
    rows.push(row("match-v4", "match, 2,000 patterns, IPv4", big, same).against(nids(), Bound::AtLeast(1.5)));
}
