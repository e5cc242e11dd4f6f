/// Connections that a confined process may make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connections {
    /// None.
    #[default]
    None,
    /// TCP connections to these ports, or to any (`None`; also where the kernel's Landlock is older than 6.7), connections to Unix sockets
    /// of packets (`SOCK_SEQPACKET`) and, to look names up, datagrams.
    To {
        /// The ports.
        ports: Option<Vec<u16>>,
        /// Whether names are looked up.
        names: bool,
    },
}
