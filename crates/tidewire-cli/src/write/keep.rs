//! A command's handler, and the packets of the streams that it prints.

use std::{collections::VecDeque, sync::Arc};

use tidewire::{Chunk, Datagram, EndReason, Frame, Gap, Handler, Stream, StreamPacket};

use super::{
    choose::{Choose, Want},
    comment::Comment,
    gathered::{Gathered, Later},
    numbers::NumberList,
    ring::Ring,
};
use crate::packet_file::{Captured, PacketFile};

/// Bytes of one stream that wait until it is chosen, where the input cannot be read again.
pub const STREAM_BYTES_MAX: usize = 1 << 20;

/// A handler with the packets of its streams.
pub struct Keep<H> {
    pub inner: H,
    pub packets: Packets,
}

/// Treatment of packets.
pub enum Packets {
    /// Their numbers are noted: the files are read again.
    Numbers(Gathered),
    /// They are written, or copied until their stream is chosen.
    Copies(Copies),
}

/// Packets of an input that cannot be read again.
pub struct Copies {
    pub file: Arc<PacketFile>,
    pub ring: Ring,
    /// Packets of chosen streams and datagrams that had no room.
    pub left_out: u64,
}

/// A stream's packets.
#[derive(Default)]
pub struct State {
    want: Want,
    numbers: NumberList,
    /// The least number of all; 0: none yet.
    first: u64,
    /// Places and bytes of copies.
    held: VecDeque<(u64, u32)>,
    held_bytes: usize,
    left_out: u64,
    /// Anomalies and facts that comments have; `None`: no packet was written.
    described: Option<(usize, usize)>,
}

impl<H: Choose> Keep<H> {
    /// Notes what is known after a call of the inner handler.
    fn settle(&mut self, stream: &mut Stream<'_, (H::Data, State)>) {
        let id = stream.id();
        let (data, state) = stream.data();
        if state.want != Want::Later {
            return;
        }
        state.want = self.inner.want(id, data);
        if state.want == Want::Yes {
            match &mut self.packets {
                Packets::Numbers(gathered) => gathered.choose(&mut state.numbers),
                Packets::Copies(_) => self.write_held(stream),
            }
        }
    }

    /// Writes the copies of a stream that is chosen now.
    fn write_held(&mut self, stream: &mut Stream<'_, (H::Data, State)>) {
        let held = std::mem::take(&mut stream.data().1.held);
        for (place, _) in held {
            let Packets::Copies(copies) = &mut self.packets else { return };
            match copies.ring.take(place) {
                None => stream.data().1.left_out += 1,
                Some(packet) => self.write(stream, &packet.captured()),
            }
        }
    }

    /// Writes a packet, with a comment if there is anything new to say.
    fn write(&mut self, stream: &mut Stream<'_, (H::Data, State)>, packet: &Captured<'_>) {
        let Packets::Copies(copies) = &self.packets else { return };
        let (data, state) = stream.data();
        let (described, facts, left_out) = (state.described, self.inner.facts(data), state.left_out);
        let anomalies = stream.anomalies().len();
        if described == Some((anomalies, facts)) {
            return copies.file.push(packet, "");
        }
        let (anomalies_described, facts_described) = described.unwrap_or_default();
        let mut comment = if described.is_none() { Comment::of_stream(stream) } else { Comment::default() };
        if described.is_none() && left_out > 0 {
            comment.fact(format_args!("packets before that had no room: {left_out}"));
        }
        self.inner.describe(&stream.data().0, facts_described, &mut comment);
        comment.anomalies(stream, anomalies_described);
        copies.file.push(packet, &comment.finish());
        stream.data().1.described = Some((anomalies, facts));
    }

    /// A packet of a stream that is chosen, where the input cannot be read again.
    fn write_now(&mut self, stream: &mut Stream<'_, (H::Data, State)>, packet: &StreamPacket<'_>) {
        if packet.fragments.is_empty() {
            return self.write(stream, &Captured::from(packet));
        }
        for &number in packet.fragments {
            let Packets::Copies(copies) = &mut self.packets else { return };
            match copies.ring.claim(number).and_then(|place| copies.ring.take(place)) {
                None => stream.data().1.left_out += 1,
                Some(held) => self.write(stream, &held.captured()),
            }
        }
    }
}

impl Copies {
    /// Copies a packet of a stream that may be chosen.
    fn hold(&mut self, state: &mut State, packet: &StreamPacket<'_>) {
        let mut places = VecDeque::new();
        if packet.fragments.is_empty() {
            places.push_back((self.ring.push(&Captured::from(packet)), packet.bytes.len() as u32));
        } else {
            let share = packet.bytes.len().div_ceil(packet.fragments.len()) as u32;
            let claimed = packet.fragments.iter().map(|&number| self.ring.claim(number));
            for place in claimed {
                match place {
                    None => state.left_out += 1,
                    Some(place) => places.push_back((place, share)),
                }
            }
        }
        state.held_bytes += places.iter().map(|(_, bytes)| *bytes as usize).sum::<usize>();
        state.held.append(&mut places);
        while state.held_bytes > STREAM_BYTES_MAX
            && state.held.len() > 1
            && let Some((place, bytes)) = state.held.pop_front()
        {
            state.held_bytes -= bytes as usize;
            state.left_out += 1;
            self.ring.take(place);
        }
    }
}

/// The inner handler's part of a stream's state.
fn inner<D>(state: &mut (D, State)) -> Option<&mut D> {
    Some(&mut state.0)
}

impl<H: Choose> Handler for Keep<H> {
    type Data = (H::Data, State);
    const PACKETS: bool = H::STREAMS;
    const DATAGRAMS: bool = H::DATAGRAMS;
    const FRAGMENTS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, Self::Data>) {
        if let Some(mut stream) = stream.lend(inner) {
            self.inner.open(&mut stream);
        }
        self.settle(stream);
    }

    fn packet(&mut self, stream: &mut Stream<'_, Self::Data>, packet: StreamPacket<'_>) {
        let state = &mut stream.data().1;
        if state.want == Want::No {
            return;
        }
        match &mut self.packets {
            Packets::Numbers(gathered) => {
                let single = [packet.number];
                let numbers = if packet.fragments.is_empty() { &single[..] } else { packet.fragments };
                for &number in numbers {
                    state.first = if state.first == 0 { number } else { state.first.min(number) };
                    let is_noted = gathered.note(state.want, &mut state.numbers, number, || self.inner.candidates());
                    state.left_out += u64::from(!is_noted);
                }
            }
            Packets::Copies(copies) if state.want == Want::Later => copies.hold(state, &packet),
            Packets::Copies(_) => self.write_now(stream, &packet),
        }
    }

    fn data(&mut self, stream: &mut Stream<'_, Self::Data>, chunk: Chunk<'_>) {
        if let Some(mut stream) = stream.lend(inner) {
            self.inner.data(&mut stream, chunk);
        }
        self.settle(stream);
    }

    fn gap(&mut self, stream: &mut Stream<'_, Self::Data>, gap: Gap) {
        if let Some(mut stream) = stream.lend(inner) {
            self.inner.gap(&mut stream, gap);
        }
    }

    fn close(&mut self, stream: &mut Stream<'_, Self::Data>, reason: EndReason) {
        // The inner handler may take its state with it.
        self.settle(stream);
        let want = stream.data().1.want;
        let mut comment = None;
        if H::STREAMS && want != Want::No && matches!(self.packets, Packets::Numbers(_)) {
            let mut text = Comment::of_stream(stream);
            self.inner.describe(&stream.data().0, 0, &mut text);
            text.anomalies(stream, 0);
            comment = Some(text);
        }
        if let Some(mut stream) = stream.lend(inner) {
            self.inner.close(&mut stream, reason);
        }
        let want = if want == Want::Later { self.inner.printed() } else { want };
        let id = stream.id();
        stream.data().1.want = want;
        match &mut self.packets {
            Packets::Numbers(gathered) => {
                let State { numbers, first, left_out, .. } = std::mem::take(&mut stream.data().1);
                let comment = comment.map(Comment::finish).unwrap_or_default();
                gathered.close(want, id, Later { numbers, first, left_out, comment });
            }
            Packets::Copies(copies) if want != Want::Yes => {
                stream.data().1.held.drain(..).for_each(|(place, _)| drop(copies.ring.take(place)));
            }
            Packets::Copies(_) => {
                self.write_held(stream);
                let left_out = stream.data().1.left_out;
                if let Packets::Copies(copies) = &mut self.packets {
                    copies.left_out += left_out;
                }
            }
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.inner.datagram(datagram);
        let want = self.inner.printed();
        if H::STREAMS || want == Want::No {
            return;
        }
        let mut comment = Comment::of_datagram(datagram).finish();
        match &mut self.packets {
            Packets::Numbers(gathered) => {
                let mut later = Later { comment, ..Later::default() };
                for &number in datagram.numbers {
                    later.first = if later.first == 0 { number } else { later.first.min(number) };
                    let is_noted = gathered.note(Want::Later, &mut later.numbers, number, || self.inner.candidates());
                    later.left_out += u64::from(!is_noted);
                }
                gathered.close(want, datagram.packet, later);
            }
            Packets::Copies(copies) => {
                for &number in datagram.numbers {
                    match copies.ring.claim(number).and_then(|place| copies.ring.take(place)) {
                        None => copies.left_out += 1,
                        Some(held) => copies.file.push(&held.captured(), &std::mem::take(&mut comment)),
                    }
                }
            }
        }
    }

    fn fragment(&mut self, frame: &Frame, bytes: &[u8]) {
        if let Packets::Copies(copies) = &mut self.packets {
            copies.ring.push_fragment(frame, bytes);
        }
    }
}
