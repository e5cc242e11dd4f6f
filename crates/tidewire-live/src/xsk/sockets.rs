//! From a plan to rings.

use std::{
    io,
    os::fd::AsFd,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use super::{
    XskPlan,
    linearize_buffer::LinearizeBuffer,
    ring::{Marks, State, XskRing},
};
use crate::{
    Error, SettingError,
    sys::{
        arena::ArenaRegion,
        bpf::{Map, XdpMode},
        xsk::{self, Binding, FillRing, XskSocket},
    },
};

/// How often, and how long each time, a receive queue is waited for that others still have.
const BUSY_WAITS: u32 = 20;
const BUSY_WAIT: Duration = Duration::from_millis(25);

impl XskPlan {
    /// Opens the sockets of all workers, puts them into the map of sockets and returns the rings by worker. `number` is the
    /// interface's in the capture ([`Frame::interface`](tidewire_wire::Frame::interface)); `mode` is how the program is
    /// attached: the driver only writes into our memory in native mode. Some drivers do that only where the program is
    /// attached already. `places`: by worker, then ring, each of [`place_bytes`](Self::place_bytes).
    ///
    /// # Errors
    /// A missing capability, a receive queue that another program has, no memory for the rings, a kernel or a driver that
    /// cannot what frames of this size need, another number of places than of rings.
    pub fn open(
        &self,
        number: u16,
        mode: XdpMode,
        places: Vec<Vec<ArenaRegion>>,
        sockets: &Arc<Map>,
    ) -> Result<Vec<Vec<XskRing>>, Error> {
        let wrong = || Error::from(SettingError::PlaceCount { interface: self.interface.name.clone() });
        if places.len() != self.workers || (0..).zip(&places).any(|(worker, mine)| mine.len() != self.rings(worker)) {
            return Err(wrong());
        }
        let mut places: Vec<_> = places.into_iter().map(Vec::into_iter).collect();
        let mut rings: Vec<Vec<XskRing>> = (0..self.workers).map(|_| Vec::new()).collect();
        for queue in 0..self.queues() {
            let mut shared = None;
            for (index, worker) in self.owners(queue).into_iter().enumerate() {
                let place = places.get_mut(worker).and_then(Iterator::next).ok_or_else(wrong)?;
                let slot = queue * self.workers as u32 + index as u32;
                let ring = self.open_ring(queue, mode, place, &mut shared, sockets, self.marks(number, slot))?;
                rings.get_mut(worker).ok_or_else(wrong)?.push(ring);
            }
        }
        for ring in rings.iter().flatten() {
            let set = sockets.set(ring.marks.slot, std::os::fd::AsRawFd::as_raw_fd(&ring.socket.as_fd()));
            set.map_err(|source| self.failed("giving the XDP program its sockets", source))?;
        }
        Ok(rings)
    }

    fn marks(&self, number: u16, slot: u32) -> Marks {
        Marks {
            interface: self.interface.name.clone(),
            number,
            slot,
            snap_bytes: self.snap_bytes,
            busy_poll: self.busy_poll_us > 0,
            stamped: self.stamped,
        }
    }

    fn open_ring(
        &self,
        queue: u32,
        mode: XdpMode,
        place: ArenaRegion,
        shared: &mut Option<Shared>,
        sockets: &Arc<Map>,
        marks: Marks,
    ) -> Result<XskRing, Error> {
        let at = |what: &'static str| move |source| self.failed(what, source);
        let socket = XskSocket::open().map_err(|source| self.no_socket(source))?;
        let (memory, linearize) = place.split(self.memory_bytes()).map_err(at("dividing the ring's memory"))?;
        linearize.allocate().map_err(at("allocating the ring"))?;
        let first = match shared {
            Some(first) => first,
            None => shared.insert(self.shared(&socket, &memory)?),
        };
        memory.map(first.memory.as_fd(), 0).map_err(at("mapping the ring's memory"))?;
        let entries = self.entries() as u32;
        let rx = socket.rx_ring(entries).map_err(at("making the receive ring"))?;
        match &first.socket {
            None => self.bind(&socket, queue, mode)?,
            Some(owner) => {
                socket
                    .bind_beside(owner, self.interface.index, queue)
                    .map_err(|source| self.not_bound(queue, source))?;
            }
        }
        if self.busy_poll_us > 0 {
            socket.busy_poll(self.busy_poll_us).map_err(at("switching busy polling on (Linux 5.11, cap_net_admin)"))?;
        }
        let socket = Arc::new(socket);
        first.socket.get_or_insert_with(|| Arc::clone(&socket));
        Ok(XskRing {
            socket,
            rx,
            fill: Arc::clone(&first.fill),
            memory,
            linearize: LinearizeBuffer::new(linearize),
            sockets: Arc::clone(sockets),
            slot: None,
            attachment: None,
            marks,
            returned: Vec::new(),
            state: State::on(self.interface.index),
        })
    }

    /// Gives a ring that is alone on its queue, and of which nothing is held, a new socket there; this is the plan for the
    /// interface that it goes on with.
    pub(super) fn open_again(&self, ring: &mut XskRing, mode: XdpMode) -> Result<(), Error> {
        let at = |what: &'static str| move |source| self.failed(what, source);
        let queue = ring.marks.slot / self.workers as u32;
        let socket = XskSocket::open().map_err(|source| self.no_socket(source))?;
        let shared = self.shared(&socket, &ring.memory)?;
        let rx = socket.rx_ring(self.entries() as u32).map_err(at("making the receive ring"))?;
        self.bind(&socket, queue, mode)?;
        if self.busy_poll_us > 0 {
            socket.busy_poll(self.busy_poll_us).map_err(at("switching busy polling on (Linux 5.11, cap_net_admin)"))?;
        }
        ring.returned.clear();
        (ring.socket, ring.rx, ring.fill) = (Arc::new(socket), rx, shared.fill);
        let set = ring.sockets.set(ring.marks.slot, std::os::fd::AsRawFd::as_raw_fd(&ring.socket.as_fd()));
        set.map_err(|source| self.failed("giving the XDP program its sockets", source))
    }

    /// A queue's memory and fill ring, with all buffers in it.
    fn shared(&self, socket: &XskSocket, place: &ArenaRegion) -> Result<Shared, Error> {
        let at = |what: &'static str| move |source| self.failed(what, source);
        let bytes = self.memory_bytes();
        let memory = xsk::shared_memory(bytes).map_err(at("allocating the ring"))?;
        place.map(memory.as_fd(), 0).map_err(at("mapping the ring's memory"))?;
        socket.register(place, bytes, self.chunk_bytes).map_err(|source| self.no_memory(source))?;
        let chunk = u64::from(self.chunk_bytes);
        let buffers: Vec<u64> = (0..bytes as u64 / chunk).map(|index| index * chunk).collect();
        let entries = buffers.len().next_power_of_two() as u32;
        let mut fill = socket.fill_ring(entries).map_err(at("making the fill ring"))?;
        fill.push(&buffers);
        Ok(Shared { memory, fill: Arc::new(Mutex::new(fill)), socket: None })
    }

    /// Binds it as well as it can be: what the driver refuses is tried with less.
    fn bind(&self, socket: &XskSocket, queue: u32, mode: XdpMode) -> Result<(), Error> {
        let tried = [(true, true), (true, false), (false, true), (false, false)];
        let mut first_error = None;
        for (zero_copy, frags) in tried {
            if (zero_copy && mode == XdpMode::Generic) || (self.needs_frags && !frags) {
                continue;
            }
            match self.bind_as(socket, queue, Binding { zero_copy, frags }) {
                Ok(()) => return Ok(()),
                // A refusal of copying says more than one of zero-copy.
                Err(error) if !zero_copy => first_error = first_error.or(Some(error)),
                Err(_) => {}
            }
        }
        Err(self.not_bound(queue, first_error.unwrap_or_else(|| io::ErrorKind::Unsupported.into())))
    }

    /// The kernel lets go of a queue a moment after its last socket was closed.
    fn bind_as(&self, socket: &XskSocket, queue: u32, binding: Binding) -> io::Result<()> {
        let mut waits = BUSY_WAITS;
        loop {
            match socket.bind(self.interface.index, queue, binding) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && waits > 0 => {
                    waits -= 1;
                    thread::sleep(BUSY_WAIT);
                }
                result => return result,
            }
        }
    }
}

/// Resources that the sockets of a queue share.
struct Shared {
    memory: std::os::fd::OwnedFd,
    fill: Arc<Mutex<FillRing>>,
    /// The socket that the others are bound beside.
    socket: Option<Arc<XskSocket>>,
}
