//! The engine's settings as the fuzz input chooses them: defaults, and bounds small enough to be reached.

use super::input::Input;
use tidewire_core::{ChecksumMode, Config, DefragPolicy, DirectionCutoff, KeyIds, Mode, TcpPolicy};

const MS: u64 = 1_000_000;

/// The engine's configuration and what the handler does.
pub struct Settings {
    pub config: Config,
    /// Frames a batch.
    pub batch: usize,
    /// Bits: keep chunks, set cutoffs, discard streams, set priorities; classify.
    pub knobs: u8,
    /// Whether frames can be read again.
    pub has_history: bool,
}

/// Reads settings. All zeros are the defaults, except for the size of the history.
pub fn read(input: &mut Input<'_>) -> Settings {
    let mut config = Config { history_segments: 1024, history_copy_bytes: 1 << 20, ..Config::default() };
    let [general, knobs, batch] = [input.byte(), input.byte(), input.byte()];
    config.mode = input.pick(&[Mode::Strict, Mode::Fast, Mode::Track]);
    config.checksum = input.pick(&[ChecksumMode::Auto, ChecksumMode::Verify, ChecksumMode::Ignore]);
    config.tcp_policy = policy(input.byte());
    config.defrag_policy = defrag_policy(input.byte());
    config.key_ids = KeyIds { vlan: general & 1 != 0, tunnel: general & 2 != 0 };
    config.urgent_inline = general & 4 == 0;
    if general & 8 != 0 {
        (config.history_segments, config.history_copy_bytes) = (64, 1 << 12);
    }
    if general & 16 != 0 {
        let choice = input.byte();
        config.targets.add([10, 0, 0, 2].into(), 32, policy(choice), defrag_policy(choice));
        config.defrag_policy_v6 = defrag_policy(input.byte());
    }
    if general & 32 != 0 {
        delivery(input, &mut config);
    }
    if general & 64 != 0 {
        bounds(input, &mut config);
    }
    if general & 128 != 0 {
        fragments_and_times(input, &mut config);
    }
    Settings { config, batch: 1 + usize::from(batch % 48), knobs, has_history: batch & 128 != 0 }
}

fn policy(choice: u8) -> TcpPolicy {
    match choice {
        0 => TcpPolicy::Linux,
        _ => TcpPolicy::ALL[usize::from(choice) % TcpPolicy::ALL.len()],
    }
}

fn defrag_policy(choice: u8) -> DefragPolicy {
    match choice {
        0 => DefragPolicy::Linux,
        _ => DefragPolicy::ALL[usize::from(choice) % DefragPolicy::ALL.len()],
    }
}

fn delivery(input: &mut Input<'_>, config: &mut Config) {
    config.chunk_bytes = u32::from(input.byte());
    config.overlap_bytes = u32::from(input.byte()).min(config.chunk_bytes.saturating_sub(1));
    config.flush_timeout_ns = input.pick(&[0, MS, 1000 * MS]);
    let mut cutoff = || match input.byte() {
        0 => u64::MAX,
        bytes => u64::from(bytes - 1) * 4,
    };
    config.cutoff = DirectionCutoff([cutoff(), cutoff()]);
    config.hole_segments_strict = input.pick(&[64, 1, 3]);
    config.hole_bytes_strict = input.pick(&[128 << 10, 0, 100]);
    config.hole_segments_fast = input.pick(&[16, 1, 3]);
    config.hole_timeout_ns = input.pick(&[0, MS, 1000 * MS]);
    config.ttl_min = input.pick(&[0, 0, 0, 5]);
    config.list_max = input.pick(&[4096, 0, 1, 3]);
}

fn bounds(input: &mut Input<'_>, config: &mut Config) {
    config.memory_bytes = input.pick(&[64 << 20, 2_000, 20_000, 200_000]);
    config.stream_buffer_bytes = input.pick(&[4 << 20, 1_000, 10_000]);
    config.source_buffer_bytes = input.pick(&[0, 1_000, 10_000]);
    config.stream_holes_max = input.pick(&[512, 1, 3]);
    config.holes_max = input.pick(&[1 << 20, 1, 4]);
    config.flows_max = input.pick(&[1 << 24, 1, 2, 3]);
    config.half_open_max = input.pick(&[1 << 18, 1, 2]);
    config.priorities = 1 + input.byte() % 8;
    config.base_threshold_permille = input.pick(&[500, 0, 10, 999]);
    config.overload_cutoff_bytes = input.pick(&[u64::MAX, 0, 50]);
    config.shed = input.pick(&[false, true]);
}

fn fragments_and_times(input: &mut Input<'_>, config: &mut Config) {
    config.fragment_bytes_min = input.pick(&[8, 0, 64]);
    config.fragments_max = input.pick(&[8192, 2, 4]);
    config.datagram_bytes_max = input.pick(&[65_535, 100, 1000]);
    config.fragment_timeout_ns = input.pick(&[30_000 * MS, 0, MS]);
    config.fragment_memory_bytes = input.pick(&[16 << 20, 1_000, 5_000]);
    config.datagrams_max = input.pick(&[1 << 16, 1, 3]);
    config.inactivity_timeout_ns = input.pick(&[0, MS, 1000 * MS]);
    config.closed_timeout_ns = input.pick(&[120_000 * MS, 0, 1000 * MS]);
    // Derived, so that inputs that were found before mean the same.
    config.report_closed_ns = if config.closed_timeout_ns == 1000 * MS { 50 * MS } else { 0 };
    config.half_open_timeout_ns = input.pick(&[120_000 * MS, 0, 1000 * MS]);
    config.wire.tunnel_depth = input.pick(&[8, 0, 1, 2]);
}
