//! `[output.NAME]` and `[records]`

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};
use tidewire_config::{Entry, Value, nearest, quoted};

use tidewire_exports::{eve, ipfix};
use tidewire_outputs::{ACTIVE_TIMEOUT, Format, Keep, OutputDestination, OutputOption, Rotate, Target, place::overlap};
use tidewire_protocols::CUTOFF_BYTES;

use super::{common::Sections, keys::RECORDS};
use crate::config::types::{OutputConfig, RecordsConfig};

/// The keys of an output.
pub const OUTPUT: &[&str] = &["to", "types", "rotate", "keep", "buffer", "priority", "enterprise", "udp-rate"];

/// Most outputs of a sensor: each record passes all of them.
const OUTPUTS_MAX: usize = 16;
/// Least bytes of a buffer: a few records of any format.
const BUFFER_BYTES_MIN: u64 = 64 << 10;
const EXAMPLE: &str = "\"eve:/var/log/tidewire/eve.json\"";

/// `[records]`
#[derive(Default)]
pub struct Records {
    pub cutoff: Option<u64>,
    pub active_timeout: Option<Duration>,
    pub buffer: Option<u64>,
}

/// `[output.NAME]`
#[derive(Default)]
pub struct Output {
    pub name: String,
    pub to: Option<(String, Target, Range<usize>)>,
    pub types: Vec<(String, Range<usize>)>,
    pub rotate: Option<(String, Range<usize>)>,
    pub keep: Option<(String, Range<usize>)>,
    pub buffer: Option<u64>,
    pub priority: Option<u8>,
    pub enterprise: Option<(u32, Range<usize>)>,
    pub udp_rate: Option<(u32, Range<usize>)>,
}

impl Sections<'_, '_> {
    /// Reads `[records]`.
    pub fn records(&mut self, value: &Value<'_>) -> Records {
        let mut records = Records::default();
        let Some(table) = self.document.table(value, "records", "write [records]") else { return records };
        self.keys("records", table, RECORDS, |this, key, value| match key {
            "cutoff" => records.cutoff = this.document.size(key, value, 0, u64::MAX),
            "buffer" => records.buffer = this.document.size(key, value, BUFFER_BYTES_MIN, 1 << 40),
            _ => records.active_timeout = this.time(key, value, Duration::ZERO),
        });
        records
    }

    /// Reads `[output.NAME]`.
    pub fn output(&mut self, (key, value): Entry<'_>) -> Output {
        let mut output = Output { name: key.get_ref().as_ref().to_owned(), ..Output::default() };
        let title = format!("output.{}", output.name);
        let toml::de::DeValue::Table(table) = value.get_ref() else { return output };
        self.keys(&title, table, OUTPUT, |this, key, value| match key {
            "to" => output.to = this.target(key, value),
            "types" => output.types = this.document.strings(key, value, "[\"flow\", \"dns\"]"),
            "rotate" => {
                let limits = this.document.string(key, value, "\"100M,1h\"");
                output.rotate = limits.map(|limits| (limits, value.span()));
            }
            "keep" => {
                let bounds = this.document.string(key, value, "\"size=10G,age=30d\"");
                output.keep = bounds.map(|bounds| (bounds, value.span()));
            }
            "buffer" => output.buffer = this.document.size(key, value, BUFFER_BYTES_MIN, 1 << 40),
            "priority" => output.priority = this.priority(key, value),
            "enterprise" => {
                let number = this.document.whole(key, value, 1, u32::MAX.into());
                output.enterprise = number.map(|number| (number as u32, value.span()));
            }
            _ => {
                let rate = this.document.whole(key, value, 0, u32::MAX.into());
                output.udp_rate = rate.map(|rate| (rate as u32, value.span()));
            }
        });
        output
    }

    fn target(&mut self, key: &str, value: &Value<'_>) -> Option<(String, Target, Range<usize>)> {
        let text = self.document.string(key, value, EXAMPLE)?;
        let span = value.span();
        let mut wrong = |what: String, instead: &str| {
            self.document.wrong(&span, format!("'{key}': {what}"), instead);
            None
        };
        let target: Target = match text.parse() {
            Ok(target) => target,
            Err(what) => return wrong(what, &format!("as in {EXAMPLE}")),
        };
        if let Some([what, others]) = target.format.lacks("flows") {
            return wrong(what, &others);
        }
        match &target.place {
            OutputDestination::Stdout => return wrong("the standard output is the sensor's log".into(), "name a file"),
            OutputDestination::Path(path) if !path.is_absolute() => {
                return wrong("the path must be absolute".into(), &format!("as in {EXAMPLE}"));
            }
            OutputDestination::Path(path) => {
                let folder = if target.format.is_folder() { path } else { path.parent().unwrap_or(Path::new("/")) };
                let is_made = target.format.is_folder() && !folder.exists();
                let folder = if is_made { folder.parent().unwrap_or(Path::new("/")) } else { folder };
                let looked = self.system.folder(folder);
                self.doubt(Some(&span), looked, "");
            }
            OutputDestination::Udp(_) | OutputDestination::Tcp(_) => {}
        }
        Some((text, target, span))
    }

    /// Refuses outputs that are files which are used for something else.
    pub fn check_outputs(&mut self, records: Option<&RecordsConfig>, used: &[PathBuf]) {
        for output in records.iter().flat_map(|records| &records.outputs) {
            let Ok(Target { place: OutputDestination::Path(path), .. }) = output.to.parse() else { continue };
            if let Some(input) = used.iter().find(|input| overlap(&path, input).is_some() || path.starts_with(input)) {
                let place = self.places.get(&format!("output.{}.to", output.name)).cloned();
                let what = format!(
                    "'to' is {}, or lies in it, which is used for something else",
                    quoted(&input.to_string_lossy())
                );
                self.document.wrong_at(place.as_ref(), what, "name another place");
            }
        }
    }

    /// Refuses an option that an output does not have.
    fn lacks_option(&mut self, span: &Range<usize>, key: &str, option: OutputOption) {
        self.document.wrong(span, format!("'{key}' is for {}", option.outputs()), "leave it out");
    }

    /// Notes bounds that are invalid, whatever the output is.
    fn check_bounds(&mut self, output: &Output) {
        if let Some((limits, span)) = &output.rotate
            && let Err(what) = limits.parse::<Rotate>()
        {
            self.document.wrong(span, format!("'rotate': {what}"), "");
        }
        if let Some((bounds, span)) = &output.keep
            && let Err(what) = bounds.parse::<Keep>()
        {
            self.document.wrong(span, format!("'keep': {what}"), "");
        }
    }

    /// The outputs with their settings; `None`: there is none.
    pub fn completed_records(
        &mut self,
        records: Records,
        outputs: Vec<Output>,
        is_live: bool,
    ) -> Option<RecordsConfig> {
        if outputs.is_empty() {
            let mut places = RECORDS.iter().filter_map(|key| self.places.get(&format!("records.{key}")));
            if let Some(place) = places.next() {
                let place = place.clone();
                self.document.warn(Some(&place), "[records] has no effect without an output", "write [output.NAME]");
            }
            return None;
        }
        if outputs.len() > OUTPUTS_MAX {
            let place = self.places.get("output").cloned();
            self.document.wrong_at(place.as_ref(), format!("at most {OUTPUTS_MAX} outputs, got {}", outputs.len()), "");
        }
        let mut known: Vec<Target> = Vec::new();
        let mut completed = Vec::new();
        for output in outputs {
            self.check_bounds(&output);
            let Some((to, target, span)) = output.to else {
                let place = self.places.get(&format!("output.{}", output.name)).cloned();
                let has_key = self.places.contains_key(&format!("output.{}.to", output.name));
                if !has_key {
                    let what = format!("[output.{}] does not say what is written where", output.name);
                    self.document.wrong_at(place.as_ref(), what, format!("write to = {EXAMPLE}"));
                }
                continue;
            };
            if known.iter().any(|other| other.collides(&target)) {
                self.document.wrong(&span, "another output has the same place", "each needs its own");
            }
            let has_types = OutputOption::EveTypes.applies_to(&target);
            for (name, span) in &output.types {
                if !has_types {
                    self.lacks_option(span, "types", OutputOption::EveTypes);
                } else if eve::Types::of_name(name).is_none() {
                    let instead = match nearest(name, eve::Types::names()) {
                        Some(meant) => format!("did you mean \"{meant}\"?"),
                        None => format!("there are: {}", eve::Types::names().join(", ")),
                    };
                    self.document.wrong(span, format!("\"{}\" is no type of EVE's records", quoted(name)), instead);
                }
            }
            if let Some((_, span)) = &output.rotate
                && !OutputOption::Rotate.applies_to(&target)
            {
                self.lacks_option(span, "rotate", OutputOption::Rotate);
            }
            if let Some((_, span)) = &output.keep {
                if !OutputOption::Keep.applies_to(&target) {
                    self.lacks_option(span, "keep", OutputOption::Keep);
                } else if output.rotate.is_none() && !is_live && target.format != Format::Parquet {
                    // Over interfaces files are rotated in any case, and Parquet has one for each hour.
                    let what = "'keep' is for outputs of several files";
                    self.document.wrong(span, what, "write rotate = \"100M\" as well");
                }
            }
            if let Some((number, span)) = &output.enterprise {
                if !OutputOption::Enterprise.applies_to(&target) {
                    self.lacks_option(span, "enterprise", OutputOption::Enterprise);
                } else if *number == ipfix::REVERSE_ENTERPRISE {
                    let what = "'enterprise' is the number of reverse elements (RFC 5103)";
                    self.document.wrong(span, what, "give another");
                }
            }
            if let Some((_, span)) = &output.udp_rate
                && !OutputOption::UdpRate.applies_to(&target)
            {
                self.lacks_option(span, "udp-rate", OutputOption::UdpRate);
            }
            known.push(target);
            completed.push(OutputConfig {
                name: output.name,
                to,
                types: output.types.into_iter().map(|(name, _)| name).collect(),
                rotate: output.rotate.map(|(limits, _)| limits),
                buffer_bytes: output.buffer,
                priority: output.priority,
                keep: output.keep.map(|(bounds, _)| bounds),
                enterprise: output.enterprise.map(|(number, _)| number),
                udp_rate: output.udp_rate.map(|(rate, _)| rate),
            });
        }
        // Captures of files are read to their ends.
        let cutoff = records.cutoff.or(is_live.then_some(CUTOFF_BYTES));
        Some(RecordsConfig {
            cutoff_bytes: cutoff.filter(|bytes| *bytes != u64::MAX),
            active_timeout: records.active_timeout.unwrap_or(ACTIVE_TIMEOUT),
            buffer_bytes: records.buffer,
            outputs: completed,
        })
    }
}
