//! From options to the settings of a recording.

use std::{fs, path::Path, sync::Arc, time::Duration};

use rustix::fs::statvfs;
use tidewire::Direction;
use tidewire_archive::{Compression, IndexSettings, Recipients, Retention, Settings, block::Writer};
use tidewire_patterns::{Syntax, parse};
use tidewire_recorder::{BUFFER_BYTES_MIN, LookBackSettings, RecordClass, RecordSettings};

use super::options::{Options, snap_bytes};
use crate::{capture_args, error::CliError, units::Bytes};

const SEGMENT_BYTES: u64 = 1 << 30;
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// Offsets in an index have room for it, and a damaged segment is no great loss.
const SEGMENT_BYTES_MAX: u64 = 64 << 30;
const SEGMENT_TIME: Duration = Duration::from_secs(60);
/// Less has no room for a second of traffic.
const KEEP_BYTES_MIN: u64 = 4 << 20;
/// Longer than any capture.
const NEVER: Duration = Duration::from_secs(1 << 32);

/// How segments are written.
pub fn archive(options: &Options) -> Result<Settings, CliError> {
    let usage = |text: String| Err(CliError::Usage(text));
    let size = options.size.map(|size| size.0);
    let default = size.map_or(SEGMENT_BYTES, |size| (size / 16).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES));
    let segment_bytes = options.segment_size.map_or(default, |size| size.0);
    if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes) {
        return usage("--segment-size must be 64K to 64G, as in 1G".into());
    }
    // Each worker writes one, another one is completed, and there is one to be kept.
    let open = u64::from(options.workers) + 2;
    if let Some(size) = size.filter(|&size| size < segment_bytes.saturating_mul(open)) {
        let needs = segment_bytes * open;
        return usage(format!(
            "--size {size} has no room for {open} segments of {segment_bytes} bytes: at least {needs}"
        ));
    }
    let segment_time = match options.segment_time {
        Some(span) if span.0 == 0 => return usage("--segment-time must be more than 0, as in 60s".into()),
        Some(span) => Duration::from_nanos(span.0),
        None if options.live.is_on() => SEGMENT_TIME,
        None => NEVER,
    };
    if options.durable.0 == 0 {
        return usage("--durable must be more than 0, as in 1s".into());
    }
    if options.age.is_some_and(|age| age.0 == 0) {
        return usage("--age must be more than 0, as in 14d".into());
    }
    let recipients = match options.encrypt_to.is_empty() {
        true => None,
        false => Some(recipients(&options.encrypt_to)?),
    };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let application = concat!("tidewire ", env!("CARGO_PKG_VERSION")).to_owned();
    Ok(Settings {
        segment_bytes,
        segment_time,
        durable: Duration::from_nanos(options.durable.0),
        compression: options.compress.map_or(Compression::None, Compression::from),
        recipients,
        writer: Writer { system: format!("Linux {}", release.trim()), application, ..Writer::default() },
        index: IndexSettings { tunnel_depth: options.tunnel_depth, ..IndexSettings::default() },
    })
}

fn recipients(names: &[String]) -> Result<Recipients, CliError> {
    if let Some(file) = names.iter().find(|name| !name.starts_with("age1") && Path::new(name).is_file()) {
        return Err(CliError::Usage(format!(
            "--encrypt-to {file}: a file; `tidewire keys recipient {file}` prints its recipient (age1...)"
        )));
    }
    Ok(Recipients::parse(names)?)
}

/// What is removed.
pub fn retention(options: &Options) -> Retention {
    Retention {
        size_bytes: options.size.map(|size| size.0),
        age: options.age.map(|age| Duration::from_nanos(age.0)),
        free_bytes: options.free.map(|size| size.0),
    }
}

/// Refuses what a file system can never have free: all of the archive would be removed for it.
pub fn check_free(options: &Options, folder: &Path) -> Result<(), CliError> {
    let (Some(free), Ok(found)) = (options.free.as_ref(), statvfs(folder)) else { return Ok(()) };
    let reserved = found.f_bfree.saturating_sub(found.f_bavail);
    let all = found.f_blocks.saturating_sub(reserved).saturating_mul(found.f_frsize);
    // Some report no size.
    if all == 0 || free.0 < all {
        return Ok(());
    }
    let (folder, all, free) = (folder.display(), Bytes(all), Bytes(free.0));
    Err(CliError::Usage(format!(
        "--free: {free} is more than the file system of {folder} has ({all}): the whole archive would be removed"
    )))
}

/// What is recorded. The filter of interfaces runs in the kernel.
pub fn record(options: &Options, filter: Option<String>) -> Result<RecordSettings, CliError> {
    if options.buffer.0 < BUFFER_BYTES_MIN {
        return Err(CliError::Usage("--buffer must be at least 8 MiB, as in 64M".into()));
    }
    let mut cutoff_bytes = [options.cutoff.0; 2];
    for direction in &options.cutoff_direction {
        cutoff_bytes[usize::from(direction.0 == Direction::ServerToClient)] = direction.1;
    }
    let named = |expression: &String| RecordClass { expression: expression.clone(), ..RecordClass::default() };
    let cutoffs = options.cutoff_class.iter().map(|class| {
        let cutoff_bytes = Some([class.1; 2]);
        RecordClass { cutoff_bytes, ..named(&class.0) }
    });
    let priorities =
        options.priority_class.iter().map(|class| RecordClass { priority: Some(class.1), ..named(&class.0) });
    let lengths =
        options.snaplen_class.iter().map(|class| RecordClass { snap_bytes: Some(class.1), ..named(&class.0) });
    let is_live = options.live.is_on();
    Ok(RecordSettings {
        cutoff_bytes,
        classes: cutoffs.chain(priorities).chain(lengths).collect(),
        snap_bytes: options.live.snaplen.map_or(u32::MAX, |size| snap_bytes(size.0)),
        expression: filter.clone(),
        filter: filter.filter(|_| !is_live),
        buffer_bytes: options.buffer.0,
        base_threshold_permille: options.base_threshold.0,
        flows_max: options.flows as usize,
        is_live,
        by_packet_time: !is_live,
        look_back: look_back(options)?,
        ..RecordSettings::default()
    })
}

fn look_back(options: &Options) -> Result<Option<LookBackSettings>, CliError> {
    let Some(before) = options.keep_last else { return Ok(None) };
    let usage = |text: &str| Err(CliError::Usage(text.into()));
    let is_live = options.live.is_on();
    if !is_live && options.control.is_some() {
        return usage("--control needs an interface: files are read at once");
    }
    let has_trigger = !options.trigger.is_empty() || !options.trigger_pattern.is_empty();
    if !is_live && !has_trigger {
        return usage("--keep-last of files needs a trigger: --trigger or --trigger-pattern");
    }
    if options.keep_memory.0 < KEEP_BYTES_MIN {
        return usage("--keep-memory must be at least 4 MiB, as in 1G");
    }
    let Ok(memory_bytes) = usize::try_from(options.keep_memory.0.min(1 << 46)) else {
        return usage("--keep-memory is more than this machine can address");
    };
    let parse = |text: &String| parse(text.as_bytes(), Syntax::Text).map(|pattern| pattern.bytes);
    let patterns = options.trigger_pattern.iter().map(parse).collect::<Result<_, _>>();
    Ok(Some(LookBackSettings {
        before: Duration::from_nanos(before.0),
        after: Duration::from_nanos(options.keep_after.0),
        memory_bytes,
        filters: options.trigger.clone(),
        patterns: patterns.map_err(|what| CliError::Usage(format!("--trigger-pattern: {what}")))?,
        is_of_streams: options.trigger_streams,
        trigger: Arc::default(),
    }))
}

/// The expression: from -F, behind the options, or behind the files of -r.
pub fn filter(options: &Options) -> Result<Option<String>, CliError> {
    let behind = capture_args::split(&options.read)?.1;
    let words = (!options.expression.is_empty()).then(|| options.expression.join(" "));
    let mut all = [options.filter.clone(), behind, words].into_iter().flatten();
    let filter = all.next();
    if let (Some(one), Some(other)) = (&filter, all.next()) {
        return Err(CliError::Usage(format!("two filter expressions: '{one}' and '{other}'; join them with 'and'")));
    }
    if let Some(expression) = &filter {
        capture_args::refuse_display_filter(expression)?;
    }
    Ok(filter)
}
