//! Forms that the engine has settings in: nanoseconds, and numbers that stand for "none".

/// A time, in nanoseconds.
pub(crate) mod span {
    use std::time::Duration;

    pub(crate) type Stored = u64;

    pub(crate) const fn load(ns: Stored) -> Duration {
        Duration::from_nanos(ns)
    }

    pub(crate) const fn store(time: Duration) -> Stored {
        tidewire_types::saturating_nanos(time)
    }
}

/// A time, in nanoseconds; 0: none. The shortest one is a nanosecond.
pub(crate) mod optional_span {
    use std::time::Duration;

    pub(crate) type Stored = u64;

    pub(crate) fn load(ns: Stored) -> Option<Duration> {
        (ns > 0).then(|| Duration::from_nanos(ns))
    }

    pub(crate) fn store(time: Option<Duration>) -> Stored {
        time.map_or(0, |time| tidewire_types::saturating_nanos(time).max(1))
    }
}

/// A number of flows; [`FLOWS_BY_MEMORY`](super::FLOWS_BY_MEMORY): none is set.
pub(crate) mod flows {
    use crate::config::FLOWS_BY_MEMORY;

    pub(crate) type Stored = u32;

    pub(crate) fn load(flows: Stored) -> Option<u32> {
        (flows != FLOWS_BY_MEMORY).then_some(flows)
    }

    pub(crate) fn store(flows: Option<u32>) -> Stored {
        flows.unwrap_or(FLOWS_BY_MEMORY)
    }
}

/// Bytes; 0: none is set. The least number is 1.
pub(crate) mod optional_bytes {
    pub(crate) type Stored = u64;

    pub(crate) fn load(bytes: Stored) -> Option<u64> {
        (bytes > 0).then_some(bytes)
    }

    pub(crate) fn store(bytes: Option<u64>) -> Stored {
        bytes.map_or(0, |bytes| bytes.max(1))
    }
}

/// Bytes; `u64::MAX`: any number.
pub(crate) mod unlimited {
    pub(crate) type Stored = u64;

    pub(crate) fn load(bytes: Stored) -> Option<u64> {
        (bytes != u64::MAX).then_some(bytes)
    }

    pub(crate) fn store(bytes: Option<u64>) -> Stored {
        bytes.unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::Config;

    #[test]
    fn settings_have_the_value_that_was_set_and_none_by_default() {
        let (default, second) = (Config::default(), Duration::from_secs(1));
        assert_eq!((default.flush_timeout(), default.inactivity_timeout(), default.hole_timeout()), (None, None, None));
        assert_eq!(
            (default.flows_max(), default.source_buffer_bytes(), default.overload_cutoff_bytes()),
            (None, None, None)
        );
        assert_eq!((default.report_closed(), default.closed_timeout()), (None, 120 * second));
        let config = default
            .with_flush_timeout(Some(Duration::ZERO))
            .with_inactivity_timeout(Some(second))
            .with_closed_timeout(Duration::MAX)
            .with_flows_max(Some(7))
            .with_source_buffer_bytes(Some(0))
            .with_overload_cutoff_bytes(Some(0));
        assert_eq!(config.flush_timeout(), Some(Duration::from_nanos(1)), "at once, and not never");
        assert_eq!((config.inactivity_timeout(), config.inactivity_timeout_ns), (Some(second), 1_000_000_000));
        assert_eq!(config.closed_timeout(), Duration::from_nanos(u64::MAX));
        assert_eq!((config.flows_max(), config.source_buffer_bytes()), (Some(7), Some(1)));
        assert_eq!((config.overload_cutoff_bytes(), config.with_flows_max(None).flows_max()), (Some(0), None));
    }
}
