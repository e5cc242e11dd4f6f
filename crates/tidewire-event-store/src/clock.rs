//! When records were stored, by a clock that may jump and one that cannot.
//!
//! The system's clock is set while events come: a machine without a battery begins in 1970, people and NTP correct it. What was stored
//! since the machine started is as old as its monotonic clock says. The system's clock only says how old records of earlier starts
//! are, and only as it was when the first record of this start was stored or removed; times that cannot be right (in the future,
//! before those of earlier records, before there was this format) count as now. So a wrong clock keeps records longer, and never
//! removes one early.

use std::sync::OnceLock;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use rustix::time::{ClockId, clock_gettime};

use crate::schema::{fact, set_fact, signed, time};

/// How often the time of storing is noted: retention by age is as exact as that. A jump of a clock is at least as large.
const NOTE_NS: u64 = 60_000_000_000;
/// The first of January 2024: no store is older.
const EARLIEST_NS: u64 = 1_704_067_200_000_000_000;

/// A start of the machine, by its random id.
type Boot = [u8; 16];

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    wall_ns: u64,
    /// Since which start of the machine, and how long.
    boot: Option<(Boot, u64)>,
}

impl Now {
    /// This one.
    #[must_use]
    pub fn read() -> Self {
        static BOOT: OnceLock<Option<Boot>> = OnceLock::new();
        let since = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(since.tv_sec).unwrap_or(0);
        let boot_ns = seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(since.tv_nsec).unwrap_or(0));
        Self {
            wall_ns: tidewire_types::clock::wall_ns(),
            // Read once: a process that has confined itself cannot read it later.
            boot: BOOT.get_or_init(read_boot).map(|boot| (boot, boot_ns)),
        }
    }

    /// A moment of the system's clock alone, nanoseconds since 1970.
    #[must_use]
    pub fn at(wall_ns: u64) -> Self {
        Self { wall_ns, boot: None }
    }

    /// A moment so long after a start of the machine.
    #[must_use]
    pub fn since_boot(wall_ns: u64, boot: [u8; 16], boot_ns: u64) -> Self {
        Self { wall_ns, boot: Some((boot, boot_ns)) }
    }

    /// By the system's clock, nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.wall_ns
    }

    /// By how much the system's clock is ahead of the one that cannot jump.
    fn ahead(&self) -> Option<i64> {
        self.boot.map(|(_, boot_ns)| time(self.wall_ns).wrapping_sub(time(boot_ns)))
    }
}

fn read_boot() -> Option<Boot> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).ok().map(u128::to_be_bytes)
}

/// The writer's memory of clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The time noted last.
    noted: Option<Now>,
    /// By how much the system's clock was ahead at the last look.
    ahead: Option<i64>,
}

impl Clock {
    /// Notes when the record `next_id` is stored, if the last note is old.
    pub(crate) fn note(&mut self, transaction: &Connection, next_id: u64, now: Now) -> rusqlite::Result<()> {
        let is_far = |one: i64, other: i64| one.abs_diff(other) >= NOTE_NS;
        let is_known = self.noted.is_some_and(|last| match (last.boot, now.boot) {
            (Some((boot, last_ns)), Some((same, now_ns))) if boot == same => {
                let is_jump = is_far(last.ahead().unwrap_or(0), now.ahead().unwrap_or(0));
                now_ns.abs_diff(last_ns) < NOTE_NS && !is_jump
            }
            // A clock that jumps back is noted as well.
            _ => last.wall_ns.abs_diff(now.wall_ns) < NOTE_NS,
        });
        if is_known {
            return Ok(());
        }
        let (boot, boot_ns) = now.boot.map(|(boot, boot_ns)| (boot, time(boot_ns))).unzip();
        let text = "INSERT OR REPLACE INTO clock VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(text)?.execute(params![signed(next_id), time(now.wall_ns), boot, boot_ns])?;
        self.noted = Some(now);
        Ok(())
    }

    /// The number of the first record that is too young to be removed.
    pub(crate) fn first_young(&mut self, connection: &mut Connection, age_ns: u64, now: Now) -> rusqlite::Result<i64> {
        let (age_ns, mut reference) = (time(age_ns), 0);
        if let Some((boot, boot_ns)) = now.boot {
            let ahead = now.ahead().unwrap_or(0);
            if self.ahead.is_none_or(|last| last.abs_diff(ahead) >= NOTE_NS) {
                let transaction = connection.transaction()?;
                let text = "UPDATE clock SET stored_ns = boot_ns + ?2 WHERE boot = ?1 AND stored_ns != boot_ns + ?2";
                transaction.execute(text, params![boot, ahead])?;
                if self.ahead.is_none() {
                    adopt(&transaction, now, boot, boot_ns)?;
                }
                transaction.commit()?;
                self.ahead = Some(ahead);
            }
            reference = first_ahead(connection, boot, ahead)?;
        }
        let (boot, since_ns, wall_ns) = match now.boot {
            Some((boot, boot_ns)) => (Some(boot), time(boot_ns) - age_ns, time(boot_ns).saturating_add(reference)),
            None => (None, 0, time(now.wall_ns)),
        };
        let text = "SELECT id FROM clock WHERE CASE WHEN boot = ?1 THEN boot_ns >= ?2 ELSE stored_ns >= ?3 END
            ORDER BY id LIMIT 1";
        let mut statement = connection.prepare_cached(text)?;
        // An age that reaches behind the beginning of a clock removes nothing.
        let values = params![boot, since_ns, wall_ns.saturating_sub(age_ns).max(i64::MIN + 1)];
        if let Some(young) = statement.query_row(values, |row| row.get::<_, i64>(0)).optional()? {
            return Ok(young);
        }
        let last = connection.query_row("SELECT max(id) FROM record", [], |row| row.get::<_, Option<i64>>(0))?;
        Ok(last.map_or(0, |last| last.saturating_add(1)))
    }
}

/// By how much the system's clock was ahead at the first look since the machine started.
fn first_ahead(connection: &Connection, boot: Boot, ahead: i64) -> rusqlite::Result<i64> {
    let known = fact::<Boot>(connection, "clock_boot")?.filter(|known| *known == boot);
    if let Some(first) = known.and(fact::<i64>(connection, "clock_ahead")?) {
        return Ok(first);
    }
    set_fact(connection, "clock_boot", &boot)?;
    set_fact(connection, "clock_ahead", &ahead)?;
    Ok(ahead)
}

/// Times of earlier starts of the machine that cannot be right count as now, and are as old as this start says from here on.
fn adopt(transaction: &Transaction<'_>, now: Now, boot: Boot, boot_ns: u64) -> rusqlite::Result<()> {
    let text = "SELECT id, stored_ns FROM clock WHERE boot IS NOT ?1 ORDER BY id";
    let mut wrong = Vec::new();
    {
        let mut statement = transaction.prepare(text)?;
        let mut rows = statement.query([boot])?;
        let mut before = time(EARLIEST_NS);
        while let Some(row) = rows.next()? {
            let (id, stored_ns) = (row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
            if stored_ns > time(now.wall_ns) || stored_ns.saturating_add(signed(NOTE_NS)) < before {
                wrong.push(id);
            } else {
                before = before.max(stored_ns);
            }
        }
    }
    let text = "UPDATE clock SET stored_ns = ?2, boot = ?3, boot_ns = ?4 WHERE id = ?1";
    for id in wrong {
        transaction.prepare_cached(text)?.execute(params![id, time(now.wall_ns), boot, time(boot_ns)])?;
    }
    Ok(())
}
