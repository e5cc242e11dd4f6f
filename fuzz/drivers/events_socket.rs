//! Any bytes as a packet of either side of the socket of events. Used by the fuzz target and by the test that replays the seeds.

pub fn run(input: &[u8]) {
    tidewire_event_socket::check_packets(input);
}
