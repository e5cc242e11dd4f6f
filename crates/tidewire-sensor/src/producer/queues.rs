//! The queues of a configuration.

use tidewire_outputs::Load;
use tidewire_queue::{Geometry, Hold, Offer, Publisher, QueueSettings, Server};

use super::set::QueueSet;
use crate::config::{PACKET_QUEUE_BYTES_MIN, QueueConfig, SlowReaders, Unit};

/// Why queues cannot be made or offered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueuesError {
    /// The environment's: the kernel refused a queue's memory.
    #[error("queue {name} of {bytes} bytes: {source}")]
    Memory {
        /// The queue.
        name: String,
        /// Bytes of its memory.
        bytes: u64,
        /// The kernel's error.
        source: tidewire_queue::Error,
    },
    /// The caller's: a name that cannot be offered, or is there twice.
    #[error("queue {name}: {source}")]
    Name {
        /// The name.
        name: String,
        /// The server's error.
        source: std::io::Error,
    },
}

/// One queue, or set, of the configuration.
#[derive(Debug)]
pub(super) struct Configured {
    pub config: QueueConfig,
    pub set: QueueSet,
}

/// A queue as it is offered.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name; in a set `name.0`, `name.1` and so on.
    pub name: String,
    /// Its content.
    pub unit: Unit,
    /// Its place in the configuration: the same for all queues of a set.
    pub place: usize,
    /// The offer that readers attach to.
    pub offer: Offer,
}

/// The queues of a configuration, with all of their memory.
#[derive(Debug)]
pub struct Queues {
    pub(super) configured: Vec<Configured>,
    offered: Vec<Offered>,
}

impl Queues {
    /// Makes the queues. Readers cannot attach before they are [offered](Self::offer).
    ///
    /// # Errors
    /// [`QueuesError::Memory`].
    pub fn new(configs: &[QueueConfig]) -> Result<Self, QueuesError> {
        let mut queues = Self { configured: Vec::new(), offered: Vec::new() };
        for (place, config) in configs.iter().enumerate() {
            let mut publishers = Vec::new();
            for index in 0..config.count.max(1) {
                let name = if config.count > 1 { format!("{}.{index}", config.name) } else { config.name.clone() };
                let publisher = publisher(config, &name)?;
                queues.offered.push(Offered { name, unit: config.unit, place, offer: publisher.offer() });
                publishers.push(publisher);
            }
            let set = QueueSet::new(publishers, config.distribution);
            queues.configured.push(Configured { config: config.clone(), set });
        }
        Ok(queues)
    }

    /// Has payload shed by its priority where the capture's rings fill.
    #[must_use]
    pub fn giving_way_to(mut self, load: &Load) -> Self {
        for queue in &mut self.configured {
            queue.set = queue.set.clone().giving_way_to(load);
        }
        self
    }

    /// Offers every queue at a server.
    ///
    /// # Errors
    /// [`QueuesError::Name`].
    pub fn offer(&self, server: &mut Server) -> Result<(), QueuesError> {
        for Offered { name, offer, place, .. } in &self.offered {
            let hold = match self.configured[*place].config.slow {
                SlowReaders::Lose => None,
                SlowReaders::Hold(None) => Some(Hold::Unlimited),
                SlowReaders::Hold(Some(most)) => Some(Hold::AtMost(most)),
            };
            let settings = QueueSettings::default().hold(hold);
            let named = |source| QueuesError::Name { name: name.clone(), source };
            server.offer(name, offer.clone(), settings).map_err(named)?;
        }
        Ok(())
    }

    /// Every queue, in the order of the configuration.
    #[must_use]
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// Ends every queue: everything was published. `false`: a handler still has one.
    #[must_use]
    pub fn finish(self) -> bool {
        self.configured.into_iter().map(|queue| queue.set.finish()).fold(true, |all, one| all & one)
    }
}

fn publisher(config: &QueueConfig, name: &str) -> Result<Publisher, QueuesError> {
    let least = if config.unit == Unit::Packets { PACKET_QUEUE_BYTES_MIN } else { 0 };
    let geometry = Geometry::new(config.records, config.memory_bytes.max(least));
    Publisher::new(geometry, epoch()).map_err(|source| QueuesError::Memory {
        name: name.to_owned(),
        bytes: geometry.file_bytes(),
        source,
    })
}

/// A random number that distinguishes a queue from its successor.
fn epoch() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}
