//! From the command's options to those of a recording.

use std::time::Duration;

use tidewire::Direction;
use tidewire_archive::Compression;
use tidewire_patterns::{Syntax, parse};
use tidewire_recorder::{LookBackOptions, RecordClass, RecordingOptions, snap_bytes};

use super::options::Options;
use crate::{
    capture_args,
    error::CliError,
    units::{Size, Span},
};

/// The options of the recording.
pub fn recording(options: &Options, filter: Option<String>) -> Result<RecordingOptions, CliError> {
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
    let (size, time) = (|size: Size| size.0, |span: Span| Duration::from_nanos(span.0));
    let is_live = options.live.is_on();
    Ok(RecordingOptions {
        is_live,
        workers: options.workers,
        directories: options.output.clone(),
        size_bytes: options.size.map(size),
        age: options.age.map(time),
        free_bytes: options.free.map(size),
        segment_bytes: options.segment_size.map(size),
        segment_time: options.segment_time.map(time),
        durable: time(options.durable),
        compression: options.compress.map_or(Compression::None, Compression::from),
        recipients: options.encrypt_to.clone(),
        identities: options.identity.clone(),
        // That of interfaces runs in the kernel.
        filter: filter.clone().filter(|_| !is_live),
        matched: filter.filter(|_| is_live),
        cutoff_bytes,
        classes: cutoffs.chain(priorities).chain(lengths).collect(),
        snap_bytes: options.live.snaplen.map_or(u32::MAX, |size| snap_bytes(size.0)),
        tunnel_depth: options.tunnel_depth,
        buffer_bytes: options.buffer.0,
        base_threshold_permille: options.base_threshold.0,
        flows_max: options.flows,
        look_back: look_back(options)?,
        ..RecordingOptions::default()
    })
}

fn look_back(options: &Options) -> Result<Option<LookBackOptions>, CliError> {
    let Some(before) = options.keep_last else { return Ok(None) };
    let parse = |text: &String| parse(text.as_bytes(), Syntax::Text).map(|pattern| pattern.bytes);
    let patterns = options.trigger_pattern.iter().map(parse).collect::<Result<_, _>>();
    Ok(Some(LookBackOptions {
        before: Duration::from_nanos(before.0),
        after: Duration::from_nanos(options.keep_after.0),
        memory_bytes: options.keep_memory.0,
        filters: options.trigger.clone(),
        patterns: patterns.map_err(|what| CliError::Usage(format!("--trigger-pattern: {what}")))?,
        is_of_streams: options.trigger_streams,
        has_control: options.control.is_some(),
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
