//! The engine's settings as the fuzz input chooses them: defaults, and bounds small enough to be reached.

use std::time::Duration;

use super::input::Input;
use tidewire_core::{ChecksumMode, Config, DefragPolicy, DirectionCutoff, KeyIds, Mode, TargetPolicies, TcpPolicy};

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

/// A time in nanoseconds; 0: none.
fn unless_zero(ns: u64) -> Option<Duration> {
    (ns > 0).then(|| Duration::from_nanos(ns))
}

/// Reads settings. All zeros are the defaults, except for the size of the history.
pub fn read(input: &mut Input<'_>) -> Settings {
    let mut config = Config::default().with_history_segments(1024).with_history_copy_bytes(1 << 20);
    let [general, knobs, batch] = [input.byte(), input.byte(), input.byte()];
    config.set_mode(input.pick(&[Mode::Strict, Mode::Fast, Mode::Track]));
    config.set_checksum(input.pick(&[ChecksumMode::Auto, ChecksumMode::Verify, ChecksumMode::Ignore]));
    config.set_tcp_policy(policy(input.byte()));
    config.set_defrag_policy(defrag_policy(input.byte()));
    config.set_key_ids(KeyIds::default().with_vlan(general & 1 != 0).with_tunnel(general & 2 != 0));
    config.set_urgent_inline(general & 4 == 0);
    if general & 8 != 0 {
        config.set_history_segments(64);
        config.set_history_copy_bytes(1 << 12);
    }
    if general & 16 != 0 {
        let choice = input.byte();
        let mut targets = TargetPolicies::default();
        targets.add([10, 0, 0, 2].into(), 32, policy(choice), defrag_policy(choice));
        config.set_targets(targets);
        config.set_defrag_policy_v6(defrag_policy(input.byte()));
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
    config.set_chunk_bytes(u32::from(input.byte()));
    config.set_overlap_bytes(u32::from(input.byte()).min(config.chunk_bytes().saturating_sub(1)));
    config.set_flush_timeout(unless_zero(input.pick(&[0, MS, 1000 * MS])));
    let mut cutoff = || match input.byte() {
        0 => u64::MAX,
        bytes => u64::from(bytes - 1) * 4,
    };
    config.set_cutoff(DirectionCutoff::new(cutoff(), cutoff()));
    config.set_hole_segments_strict(input.pick(&[64, 1, 3]));
    config.set_hole_bytes_strict(input.pick(&[128 << 10, 0, 100]));
    config.set_hole_segments_fast(input.pick(&[16, 1, 3]));
    config.set_hole_timeout(unless_zero(input.pick(&[0, MS, 1000 * MS])));
    config.set_ttl_min(input.pick(&[0, 0, 0, 5]));
    config.set_list_max(input.pick(&[4096, 0, 1, 3]));
}

fn bounds(input: &mut Input<'_>, config: &mut Config) {
    config.set_memory_bytes(input.pick(&[64 << 20, 2_000, 20_000, 200_000]));
    config.set_stream_buffer_bytes(input.pick(&[4 << 20, 1_000, 10_000]));
    config.set_source_buffer_bytes(input.pick(&[None, Some(1_000), Some(10_000)]));
    config.set_stream_holes_max(input.pick(&[512, 1, 3]));
    config.set_holes_max(input.pick(&[1 << 20, 1, 4]));
    config.set_flows_max(Some(input.pick(&[1 << 24, 1, 2, 3])));
    config.set_half_open_max(input.pick(&[1 << 18, 1, 2]));
    config.set_priorities(1 + input.byte() % 8);
    config.set_base_threshold_permille(input.pick(&[500, 0, 10, 999]));
    config.set_overload_cutoff_bytes(input.pick(&[None, Some(0), Some(50)]));
    config.set_shed(input.pick(&[false, true]));
}

fn fragments_and_times(input: &mut Input<'_>, config: &mut Config) {
    config.set_fragment_bytes_min(input.pick(&[8, 0, 64]));
    config.set_fragments_max(input.pick(&[8192, 2, 4]));
    config.set_datagram_bytes_max(input.pick(&[65_535, 100, 1000]));
    config.set_fragment_timeout(Duration::from_nanos(input.pick(&[30_000 * MS, 0, MS])));
    config.set_fragment_memory_bytes(input.pick(&[16 << 20, 1_000, 5_000]));
    config.set_datagrams_max(input.pick(&[1 << 16, 1, 3]));
    config.set_inactivity_timeout(unless_zero(input.pick(&[0, MS, 1000 * MS])));
    config.set_closed_timeout(Duration::from_nanos(input.pick(&[120_000 * MS, 0, 1000 * MS])));
    // Derived, so that inputs that were found before mean the same.
    config.set_report_closed(unless_zero(if config.closed_timeout() == Duration::from_secs(1) { 50 * MS } else { 0 }));
    config.set_half_open_timeout(Duration::from_nanos(input.pick(&[120_000 * MS, 0, 1000 * MS])));
    config.set_wire(config.wire().clone().with_tunnel_depth(input.pick(&[8, 0, 1, 2])));
}
