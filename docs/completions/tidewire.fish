# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_tidewire_global_optspecs
    string join \n h/help V/version
end

function __fish_tidewire_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_tidewire_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_tidewire_using_subcommand
    set -l cmd (__fish_tidewire_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c tidewire -n "__fish_tidewire_needs_command" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_needs_command" -s V -l version -d 'Print version'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "flows" -d 'List flows: addresses, service and name, packets, bytes, state'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "streams" -d 'List streams: bytes reassembled, gaps, conflicts, anomalies'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "extract" -d 'Write each direction\'s bytes to a file, with an index'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "follow" -d 'Print one conversation, both directions in order of delivery'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "match" -d 'Search streams for byte patterns, across segment borders'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "datagrams" -d 'List datagrams that arrived in fragments: rebuilt or rejected'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "transactions" -d 'List DNS queries, HTTP requests, handshakes of TLS and SSH ...'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "recall" -d 'Find packets in archives: by time, address, stream, expression'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "record" -d 'Record packets into an archive, to be found again'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "count" -d 'Count packets, bits and drops a second, decoding nothing'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "top" -d 'Watch interfaces on a terminal: rates, losses, largest flows'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "check-steering" -d 'Name the flows that a fan-out mode or program would split'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "gen" -d 'Send synthetic traffic, and report what was sent'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "lab" -d 'Make private networks for experiments'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "attach" -d 'Read a queue of a running sensor, for programs in any language'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "events" -d 'Show what analyzers of a sensor found, folded'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "event" -d 'Emit events of your own to a running sensor'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "split" -d 'Split one link over several, keeping conversations together'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "run" -d 'Run instances of a libpcap program that share packets'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "sensor" -d 'Capture once for many programs, each in a process of its own'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "collect" -d 'Receive events from sensors, each proven by a certificate'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "keys" -d 'Make keys and certificates for sensors and collectors'
complete -c tidewire -n "__fish_tidewire_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l sort -d 'Sort by id, start, end, duration, packets, bytes, retransmitted, missing, proto, client or server [default: id]' -r -f -a "id\t''
start\t''
end\t''
duration\t''
packets\t''
bytes\t''
retransmitted\t''
missing\t''
proto\t''
client\t''
server\t''
client_port\t''
server_port\t''
icmp_type\t''
icmp_code\t''
tunnel_id\t''
start_ns\t''
end_ns\t''
time_back_ns\t''
time_outliers\t''
priority\t''
packets_c2s\t''
packets_s2c\t''
bytes_c2s\t''
bytes_s2c\t''
frames_c2s\t''
frames\t''
frames_s2c\t''
frame_bytes_c2s\t''
frame_bytes\t''
frame_bytes_s2c\t''
payload_bytes_c2s\t''
payload_bytes\t''
payload_bytes_s2c\t''
tcp_flags_c2s\t''
tcp_flags_s2c\t''
reassembled_bytes_c2s\t''
reassembled_bytes\t''
reassembled_bytes_s2c\t''
delivered_bytes_c2s\t''
delivered_bytes\t''
delivered_bytes_s2c\t''
retransmitted_bytes_c2s\t''
retransmitted_bytes\t''
retransmitted_bytes_s2c\t''
out_of_order_packets_c2s\t''
out_of_order_packets\t''
out_of_order_packets_s2c\t''
missing_bytes_c2s\t''
missing_bytes\t''
missing_bytes_s2c\t''
ignored_bytes_c2s\t''
ignored_bytes\t''
ignored_bytes_s2c\t''
cutoff_bytes_c2s\t''
cutoff_bytes\t''
cutoff_bytes_s2c\t''
shed_packets_c2s\t''
shed_packets\t''
shed_packets_s2c\t''
shed_bytes_c2s\t''
shed_bytes\t''
shed_bytes_s2c\t''
chunks_c2s\t''
chunks\t''
chunks_s2c\t''
start_ns_c2s\t''
start_ns_s2c\t''
end_ns_c2s\t''
end_ns_s2c\t''
cut_off_packets_c2s\t''
cut_off_packets\t''
cut_off_packets_s2c\t''
cut_off_bytes_c2s\t''
cut_off_bytes\t''
cut_off_bytes_s2c\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l top -d 'Print the N largest by KEY, largest first; N is --limit, or 10' -r -f -a "id\t''
start\t''
end\t''
duration\t''
packets\t''
bytes\t''
retransmitted\t''
missing\t''
proto\t''
client\t''
server\t''
client_port\t''
server_port\t''
icmp_type\t''
icmp_code\t''
tunnel_id\t''
start_ns\t''
end_ns\t''
time_back_ns\t''
time_outliers\t''
priority\t''
packets_c2s\t''
packets_s2c\t''
bytes_c2s\t''
bytes_s2c\t''
frames_c2s\t''
frames\t''
frames_s2c\t''
frame_bytes_c2s\t''
frame_bytes\t''
frame_bytes_s2c\t''
payload_bytes_c2s\t''
payload_bytes\t''
payload_bytes_s2c\t''
tcp_flags_c2s\t''
tcp_flags_s2c\t''
reassembled_bytes_c2s\t''
reassembled_bytes\t''
reassembled_bytes_s2c\t''
delivered_bytes_c2s\t''
delivered_bytes\t''
delivered_bytes_s2c\t''
retransmitted_bytes_c2s\t''
retransmitted_bytes\t''
retransmitted_bytes_s2c\t''
out_of_order_packets_c2s\t''
out_of_order_packets\t''
out_of_order_packets_s2c\t''
missing_bytes_c2s\t''
missing_bytes\t''
missing_bytes_s2c\t''
ignored_bytes_c2s\t''
ignored_bytes\t''
ignored_bytes_s2c\t''
cutoff_bytes_c2s\t''
cutoff_bytes\t''
cutoff_bytes_s2c\t''
shed_packets_c2s\t''
shed_packets\t''
shed_packets_s2c\t''
shed_bytes_c2s\t''
shed_bytes\t''
shed_bytes_s2c\t''
chunks_c2s\t''
chunks\t''
chunks_s2c\t''
start_ns_c2s\t''
start_ns_s2c\t''
end_ns_c2s\t''
end_ns_s2c\t''
cut_off_packets_c2s\t''
cut_off_packets\t''
cut_off_packets_s2c\t''
cut_off_bytes_c2s\t''
cut_off_bytes\t''
cut_off_bytes_s2c\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l time -d 'Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]' -r -f -a "local\t'`2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system'
utc\t'The same in UTC'
iso\t'`2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`'
epoch\t'`1795233648.885960`: seconds since 1970-01-01 00:00 UTC'"
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l to -d 'Write every record to PLACE, as in eve:eve.json: json, csv, sqlite, parquet, arrow, eve (Suricata\'s), zeek, zeek-json, ipfix, ipfix-uniflow, netflow9 (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l format -d 'As --to NAME:-, on standard output: json, csv, arrow, eve or ipfix' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l eve-types -d 'Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh, stats, tls' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l ipfix-enterprise -d 'Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others (docs/formats.md)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l udp-rate -d 'Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l active-timeout -d 'Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their ends only [default: 1m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l rotate -d 'Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes eve.20261122T063000Z.000001.json' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l keep -d 'Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l where -d 'Only records whose fields fulfil this, as in \'tls.sni ends with example.org\'' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s w -l write -d 'Write the packets of what is printed, as pcapng' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l json -d 'Print JSON, one object on each line; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand flows" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l sort -d 'Sort by id, start, end, duration, packets, bytes, retransmitted, missing, proto, client or server [default: id]' -r -f -a "id\t''
start\t''
end\t''
duration\t''
packets\t''
bytes\t''
retransmitted\t''
missing\t''
proto\t''
client\t''
server\t''
client_port\t''
server_port\t''
icmp_type\t''
icmp_code\t''
tunnel_id\t''
start_ns\t''
end_ns\t''
time_back_ns\t''
time_outliers\t''
priority\t''
packets_c2s\t''
packets_s2c\t''
bytes_c2s\t''
bytes_s2c\t''
frames_c2s\t''
frames\t''
frames_s2c\t''
frame_bytes_c2s\t''
frame_bytes\t''
frame_bytes_s2c\t''
payload_bytes_c2s\t''
payload_bytes\t''
payload_bytes_s2c\t''
tcp_flags_c2s\t''
tcp_flags_s2c\t''
reassembled_bytes_c2s\t''
reassembled_bytes\t''
reassembled_bytes_s2c\t''
delivered_bytes_c2s\t''
delivered_bytes\t''
delivered_bytes_s2c\t''
retransmitted_bytes_c2s\t''
retransmitted_bytes\t''
retransmitted_bytes_s2c\t''
out_of_order_packets_c2s\t''
out_of_order_packets\t''
out_of_order_packets_s2c\t''
missing_bytes_c2s\t''
missing_bytes\t''
missing_bytes_s2c\t''
ignored_bytes_c2s\t''
ignored_bytes\t''
ignored_bytes_s2c\t''
cutoff_bytes_c2s\t''
cutoff_bytes\t''
cutoff_bytes_s2c\t''
shed_packets_c2s\t''
shed_packets\t''
shed_packets_s2c\t''
shed_bytes_c2s\t''
shed_bytes\t''
shed_bytes_s2c\t''
chunks_c2s\t''
chunks\t''
chunks_s2c\t''
start_ns_c2s\t''
start_ns_s2c\t''
end_ns_c2s\t''
end_ns_s2c\t''
cut_off_packets_c2s\t''
cut_off_packets\t''
cut_off_packets_s2c\t''
cut_off_bytes_c2s\t''
cut_off_bytes\t''
cut_off_bytes_s2c\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l top -d 'Print the N largest by KEY, largest first; N is --limit, or 10' -r -f -a "id\t''
start\t''
end\t''
duration\t''
packets\t''
bytes\t''
retransmitted\t''
missing\t''
proto\t''
client\t''
server\t''
client_port\t''
server_port\t''
icmp_type\t''
icmp_code\t''
tunnel_id\t''
start_ns\t''
end_ns\t''
time_back_ns\t''
time_outliers\t''
priority\t''
packets_c2s\t''
packets_s2c\t''
bytes_c2s\t''
bytes_s2c\t''
frames_c2s\t''
frames\t''
frames_s2c\t''
frame_bytes_c2s\t''
frame_bytes\t''
frame_bytes_s2c\t''
payload_bytes_c2s\t''
payload_bytes\t''
payload_bytes_s2c\t''
tcp_flags_c2s\t''
tcp_flags_s2c\t''
reassembled_bytes_c2s\t''
reassembled_bytes\t''
reassembled_bytes_s2c\t''
delivered_bytes_c2s\t''
delivered_bytes\t''
delivered_bytes_s2c\t''
retransmitted_bytes_c2s\t''
retransmitted_bytes\t''
retransmitted_bytes_s2c\t''
out_of_order_packets_c2s\t''
out_of_order_packets\t''
out_of_order_packets_s2c\t''
missing_bytes_c2s\t''
missing_bytes\t''
missing_bytes_s2c\t''
ignored_bytes_c2s\t''
ignored_bytes\t''
ignored_bytes_s2c\t''
cutoff_bytes_c2s\t''
cutoff_bytes\t''
cutoff_bytes_s2c\t''
shed_packets_c2s\t''
shed_packets\t''
shed_packets_s2c\t''
shed_bytes_c2s\t''
shed_bytes\t''
shed_bytes_s2c\t''
chunks_c2s\t''
chunks\t''
chunks_s2c\t''
start_ns_c2s\t''
start_ns_s2c\t''
end_ns_c2s\t''
end_ns_s2c\t''
cut_off_packets_c2s\t''
cut_off_packets\t''
cut_off_packets_s2c\t''
cut_off_bytes_c2s\t''
cut_off_bytes\t''
cut_off_bytes_s2c\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l time -d 'Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]' -r -f -a "local\t'`2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system'
utc\t'The same in UTC'
iso\t'`2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`'
epoch\t'`1795233648.885960`: seconds since 1970-01-01 00:00 UTC'"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l digest -d 'Digest of the delivered bytes of each direction, in order, gaps omitted' -r -f -a "sha256\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l to -d 'Write every record to PLACE, as in eve:eve.json: json, csv, sqlite, parquet, arrow, eve (Suricata\'s), zeek, zeek-json, ipfix, ipfix-uniflow, netflow9 (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l format -d 'As --to NAME:-, on standard output: json, csv, arrow, eve or ipfix' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l eve-types -d 'Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh, stats, tls' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l ipfix-enterprise -d 'Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others (docs/formats.md)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l udp-rate -d 'Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l active-timeout -d 'Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their ends only [default: 1m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l rotate -d 'Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes eve.20261122T063000Z.000001.json' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l keep -d 'Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l where -d 'Only records whose fields fulfil this, as in \'tls.sni ends with example.org\'' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s w -l write -d 'Write the packets of what is printed, as pcapng' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l json -d 'Print JSON, one object on each line; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand streams" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s o -l output -d 'Write to this directory; it is created if it does not exist' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l fill -d 'Filler for missing bytes. skip: nothing; zero, a character, or a byte as 0x3f: that byte repeated, at most 16 MiB for each gap; marker: a line of text with their number' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l max-open -d 'Most files open at once [default: the system\'s limit; interfaces: at most 480]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l digest -d 'Digest of each file in the index: sha256 or none' -r -f -a "sha256\t''
none\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l force -d 'Write to a directory that is not empty; files with the same names are replaced'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -l json -d 'Print the index as well'
complete -c tidewire -n "__fish_tidewire_using_subcommand extract" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l stream -d 'The stream\'s id, in place of the last argument' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l community-id -d 'The stream with this Community ID (seed 0), in place of the last argument; of several the first, or the one open at --at' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l at -d 'With a Community ID: the stream that is open at this time, as 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970; few digits mean all times that begin with them' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l as -d 'text: unprintable characters as dots; hex: offsets, hexadecimal and text; raw: only the bytes; json: one object for each piece, data in hexadecimal' -r -f -a "text\t''
hex\t''
raw\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l direction -d 'Print one direction only: c2s (client) or s2c (server)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l time -d 'Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]' -r -f -a "local\t'`2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system'
utc\t'The same in UTC'
iso\t'`2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`'
epoch\t'`1795233648.885960`: seconds since 1970-01-01 00:00 UTC'"
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s w -l write -d 'Write the packets of what is printed, as pcapng' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand follow" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s e -l pattern -d 'Search for PATTERN (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s f -l pattern-file -d 'Search for the patterns in FILE, one on each line (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l stop-after -d 'Stop after N matches in total; uses one worker, so that their order is defined' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l stop-after-stream -d 'Stop searching a stream after N matches in it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l active-timeout -d 'Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their ends only [default: 1m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l rotate -d 'Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes eve.20261122T063000Z.000001.json' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l keep -d 'Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s w -l write -d 'Write the packets of what is printed, as pcapng' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l to -d 'Write every record to PLACE, as in eve:PLACE: eve, json, csv, sqlite, parquet, arrow (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l format -d 'As --to NAME:-, on standard output: json, csv, arrow, eve' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l eve-types -d 'Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh, stats, tls' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l ipfix-enterprise -d 'Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others (docs/formats.md)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l udp-rate -d 'Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s I -l ignore-case -d 'Ignore the case of ASCII letters'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s x -l hex -d 'Read all patterns as hexadecimal'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l count -d 'Print the number of matches of each pattern instead of the matches'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l json -d 'Print JSON, one object on each line; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand match" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s w -l write -d 'Write the packets of what is printed, as pcapng' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l json -d 'Print JSON, one object on each line; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand datagrams" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l service -d 'Only these protocols, as in dns,http (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l time -d 'Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]' -r -f -a "local\t'`2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system'
utc\t'The same in UTC'
iso\t'`2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`'
epoch\t'`1795233648.885960`: seconds since 1970-01-01 00:00 UTC'"
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l active-timeout -d 'Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their ends only [default: 1m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l rotate -d 'Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes eve.20261122T063000Z.000001.json' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l keep -d 'Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l where -d 'Only records whose fields fulfil this, as in \'tls.sni ends with example.org\'' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l to -d 'Write every record to PLACE, as in eve:PLACE: eve, zeek, zeek-json, json, csv, sqlite, parquet, arrow (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l format -d 'As --to NAME:-, on standard output: json, csv, arrow, eve' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l eve-types -d 'Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh, stats, tls' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l ipfix-enterprise -d 'Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others (docs/formats.md)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l udp-rate -d 'Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l json -d 'Print JSON, one object on each line; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand transactions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l from -d 'Packets from this time on' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l to -d 'Packets before this time; --until is the same' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l stream -d 'The packets of the stream with this id; the number of any packet of it will do' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l community-id -d 'The packets of streams with this Community ID (seed 0)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l host -d 'IP packets from or to this address, inside of tunnels too (repeatable: any of them)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l port -d 'Packets from or to this port of TCP, UDP or SCTP, inside of tunnels too (repeatable: any of them)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l net -d 'IP packets from or to an address of this network, as in 10.1.0.0/16, inside of tunnels too' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l vlan -d 'Packets with this VLAN id' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l protocol -d 'IP packets of this protocol: its name (tcp, udp, icmp, icmp6, sctp, gre, esp, ah) or number' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -s w -l write -d 'Write the packets to FILE, as pcapng; `-` is standard output' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l extract -d 'Write each direction\'s bytes of the streams to files in DIR, with an index, as tidewire extract' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l flows -d 'List flows, as tidewire flows'
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l follow -d 'Print the conversation of --stream, or the first one of --community-id, as tidewire follow'
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l overview -d 'Print the contents of the archive: times, packets, losses, pauses, encryption; indexes are read, no packets'
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -l json -d 'Print JSON: records, and what was read as the last line of standard output; of standard error where that has packets'
complete -c tidewire -n "__fish_tidewire_using_subcommand recall" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s r -l read -d 'Record capture files, merged by time; `-` is standard input (a filter expression may follow)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s F -l filter -d 'Record only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s j -l workers -d 'Worker threads of interfaces, 1 to 64: each writes segments of its own' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l config -d 'Read options from a TOML file, as the other commands do' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s o -l output -d 'The archive\'s directory, made if it is not there (repeatable: segments go to them in turn)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l size -d 'Keep the newest SIZE in each directory, as in 500G' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l age -d 'Keep packets for TIME, as in 14d' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l free -d 'Remove the oldest segments while the file system has less than SIZE free' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l segment-size -d 'Complete a segment at SIZE, at most 64G [default: 1G, or a sixteenth of --size if that is less]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l segment-time -d 'Complete a segment after TIME: of interfaces by the clock, of files by packet time [default: 1m; files: no limit]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l compress -d 'Compress segments: lz4 or zstd, which any program reads' -r -f -a "lz4\t''
zstd\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l encrypt-to -d 'Encrypt segments and indexes for this recipient of age, as `tidewire keys identity` prints it (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l durable -d 'Captured packets are on the disk after TIME at most, even if the power fails' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l cutoff -d 'Write at most the first SIZE of payload of each direction of a stream; the rest is counted' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'udp port 53=all\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l snaplen-class -d 'Write at most SIZE of each packet of streams whose first packet matches EXPR, as in \'tcp port 443=96\'; 0 is all of it (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l tunnel-depth -d 'Most nested tunnels to look into' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l keep-last -d 'Keep packets in memory, and record the last TIME before a trigger: --trigger, --trigger-pattern, SIGUSR1 or --control' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l keep-after -d 'Record TIME after a trigger as well' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l keep-memory -d 'Memory of each worker for packets that wait' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l trigger -d 'A packet that matches EXPR is a trigger (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l trigger-pattern -d 'A packet with these bytes is a trigger, written as for `tidewire match -e` (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l control -d 'Listen at this Unix socket for `tidewire record trigger SOCKET`; with `-` behind it, each line of its standard input is a trigger (of `tidewire events --follow`, say)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l buffer -d 'Memory of each worker between capture and disk: 64M bear a disk that stalls for 50 ms at 10 Gbit/s' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l nice -d 'Nice value of the threads that record from interfaces, -20 (before all others) to 19; the default is -10 where that is permitted, so that those who send and receive wait before packets are lost' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': where the disk is too slow, low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l base-threshold -d 'Shed low priorities once SHARE of the buffers is in use, as 50% or 0.5' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l flows -d 'Flows to remember for each worker, about 250 bytes each' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l verify -d 'Check archives: every segment and index against the digests that were noted when it was written' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l index-only -d 'Index captures in DIR, which becomes an archive' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l identity -d 'Read encrypted archives with the identity in FILE: --verify, and segments that need a new index (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l trigger-streams -d 'A packet that is a trigger records its stream, not the whole link'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -l json -d 'Print the summary as a JSON object; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and not __fish_seen_subcommand_from trigger" -a "trigger" -d 'Fire the trigger of a recorder that looks back (--keep-last)'
complete -c tidewire -n "__fish_tidewire_using_subcommand record; and __fish_seen_subcommand_from trigger" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s F -l filter -d 'Count only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s w -s j -l workers -d 'Worker threads, 1 to 64' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l config -d 'Read options from a TOML file, as the other commands do' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l work -d 'Spend TIME on each packet to simulate an application, as in 5us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l interval -d 'Report every TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -l json -d 'Print one JSON object for each interval and one with the totals at the end; key names are stable'
complete -c tidewire -n "__fish_tidewire_using_subcommand count" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s F -l filter -d 'Process only packets that match this expression (libpcap\'s language, as in tcpdump)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s j -l workers -d 'Worker threads, 1 to 64. The results are the same for any number unless a limit is reached: --memory, --history and the tables are divided among workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l config -d 'Read options from a TOML file: `key = value` with the names of these options, at the top or in a table named after the subcommand. The command line overrides the file; --no-NAME turns off a switch that the file turns on' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l identity -d 'Read encrypted archives with the identity in FILE, as `tidewire keys identity` makes it (repeatable)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l from -d 'Of archives: only packets from this time on, as 3h (ago), 2026-11-23T06:00:00Z, 06:00, seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l until -d 'Of archives: only packets before this time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s i -l interface -d 'Capture from interface NAME until Ctrl-C, --duration or --packets (repeatable; eth1:eth3 is two interfaces, any all that are up)' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l duration -d 'Stop after TIME' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s c -l packets -d 'Stop after N packets that match the filter' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l engine -d 'Capture engine: auto, packet (packet socket), xdp (AF_XDP in the driver) or xdp-generic [default: auto]' -r -f -a "auto\t''
packet\t''
xdp\t''
xdp-generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l fanout -d 'Divide packets among workers by a fan-out group (packet(7)). GROUP: its number, which other processes may share, or any; MODE: hash, lb, cpu, rollover, rnd, qm, cbpf or ebpf, optionally with ,defrag and ,rollover [default: both directions of a flow to one worker]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l steer -d 'Divide packets among workers by a steering program; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l ring -d 'Size of a ring; each worker has one for each interface [default: 64M]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l snaplen -d 'Capture at most SIZE of each packet; 0 is all of it [default: all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l busy-poll -d 'Let AF_XDP sockets poll the driver, for up to TIME at a time, as in 50us' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l merge-window -d 'How long to hold packets to merge several interfaces in order of time [default: 10ms]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as in 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l kernel-flows -d 'Most flow directions that the kernel programs track for IPv4, and a quarter as many for IPv6; 0: no cutoffs in the kernel [default: 262144, in 48 MiB]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l mode -d 'strict: wait for missing segments as long as the receiver could still get them; fast: wait for a few packets only; track: deliver no data [default: strict; datagrams: track]' -r -f -a "strict\t''
fast\t''
track\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l policy -d 'Which bytes win where segments or fragments overlap: first, last, bsd, bsd-right, linux, linux-2.6, old-linux, windows, vista, solaris, hpux10, hpux11, irix, macos, rfc5722. A name that exists only for TCP or only for fragments sets that one. Only linux was compared with real hosts; the others follow publications' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l policy-ipv6 -d 'The policy for fragments of IPv6, which all hosts treat alike since RFC 5722' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l target-policy -d 'The policy of receivers in a network, as in 10.1.0.0/16=windows; the longest prefix wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l checksum -d 'Packets with a wrong checksum. auto: keep those that the receiver accepted; verify: drop all; ignore: keep all' -r -f -a "auto\t''
verify\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l link-addresses -d 'Destination MAC addresses. compare: report packets of a flow that are sent to another address; ignore: do not compare' -r -f -a "compare\t''
ignore\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l duplicates -d 'Copies of packets, seen at another interface or twice at a mirror port. auto: leave them out where there are several interfaces, or the first packets of a file show them; keep: process them; drop: leave them out' -r -f -a "auto\t''
keep\t''
drop\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l ttl-min -d 'Drop packets with a lower time to live: they do not reach the receiver' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l urgent -d 'TCP urgent data. inline: part of the stream; out: removed from the stream, as Linux does by default' -r -f -a "inline\t''
out\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l inactivity-timeout -d 'End a stream without packets for TIME, by packet time; 0: never [default: never; interfaces: 10m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l closed-timeout -d 'Keep a closed connection for TIME to recognise late packets [default: 2m; interfaces: 10s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l sliced -d 'Frames that were cut before the capture, which has the cut length as theirs. auto: recognise a packet broker by the beginning of the input; never: such packets are malformed; BYTES: all frames of this length' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l tunnel-depth -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l key -d 'Fields that identify a flow. 5tuple: innermost addresses, ports and protocol; vlan, tunnel or vlan,tunnel: these ids as well, which then must be the same in both directions' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l fragment-min -d 'Reject a datagram with a fragment of fewer bytes of data, unless it is the last' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l fragments-max -d 'Reject a datagram of more than N fragments' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l datagram-max -d 'Reject a fragmented datagram of more than SIZE bytes after the IP header; IP allows 65535' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l fragment-timeout -d 'Reject a datagram that is incomplete after TIME, by packet time; 0: never [default: 30s; of IPv6 60s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l cutoff -d 'Deliver at most the first SIZE bytes of each direction; statistics stay exact. 0: statistics only [default: all; flows: 16K or all]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l cutoff-direction -d 'The cutoff of one direction: c2s=SIZE or s2c=SIZE (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l cutoff-class -d 'The cutoff of streams whose first packet matches EXPR, as in \'port 443=16K\'; the first match wins (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l chunk-size -d 'Collect bytes into chunks of SIZE; 0: deliver bytes as they arrive' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l overlap -d 'Repeat the last SIZE bytes of a chunk at the start of the next' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l flush-timeout -d 'Deliver an incomplete chunk after TIME; 0: wait until it is full' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l memory -d 'Memory for all workers together: flow and fragment tables, out-of-order data, chunks, gap lists, history, protocol fields of streams (three eighths), records that are sorted or encoded (an eighth). At least 2M for each worker. Rings of interfaces and file buffers are not included. Further records that are sorted lie in a temporary file (in TMPDIR, else /var/tmp) until they are printed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l history -d 'Remember the last N delivered segments of all streams (at most 128 for a direction) to detect retransmissions with different bytes; 0: do not compare' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l priority-class -d 'Priority of streams whose first packet matches EXPR, 0 (lowest, the default) to 7, as in \'port 53=3\': under memory pressure low priorities are shed first (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l base-threshold -d 'Shed packets by priority once SHARE of the memory is in use, as 50% or 0.5 [default: 50% with priorities or an overload cutoff, otherwise nothing is shed]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l overload-cutoff -d 'Just below a priority\'s watermark, shed bytes after the first SIZE of a stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l limit -d 'Print at most N records; 0: only the totals and the ledger (as --stats)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l stats -d 'End with the ledger, which counts every packet once: text on standard error, or json on standard output' -r -f -a "text\t''
json\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l tap -d 'The interface only receives mirrored traffic: drop packets after capture, and unwanted ones in the driver'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l host -d 'The interface carries this host\'s traffic: leave it untouched (the default)'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l incoming -d 'Capture incoming packets only, none that this host sends'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l no-promiscuous -d 'Do not set promiscuous mode: capture only packets that this host receives'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l no-pin -d 'Do not bind worker N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l no-sandbox -d 'Keep privileges and access to files and system calls; by default they are dropped once the capture is open'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s q -l quiet -d 'Do not print the capture engine at the start'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -l outer -d 'Use the outermost IP header, not the innermost (as --tunnel-depth 0)'
complete -c tidewire -n "__fish_tidewire_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -s w -l workers -d 'Number of workers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -l fragments -d 'How a program that uses ports steers fragments: by addresses, or follow-first' -r -f -a "addresses\t''
follow-first\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -l tunnels -d 'Most nested tunnels that a program decodes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -l limit -d 'Print at most N split flows' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -l json -d 'Print JSON: one object for each split flow, then one with the totals'
complete -c tidewire -n "__fish_tidewire_using_subcommand check-steering" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "udp" -d 'UDP datagrams of many flows'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "tcp" -d 'TCP connections from handshake to FIN, many at once'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "replay" -d 'Replay captures from memory, at their own pace, faster, or at a rate'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "syn-flood" -d 'A flood of TCP SYNs, each from another address'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "fragments" -d 'UDP datagrams in fragments, valid and invalid ones'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "missing" -d 'Find sent frames that are missing in captures'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "sink" -d 'The other end of a cable: count frames and drop them, as early as the kernel can'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and not __fish_seen_subcommand_from udp tcp replay syn-flood fragments missing sink help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s i -l interface -d 'Interface to send from; given twice: the clients\' end, then the servers\'' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s r -l rate -d 'Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s c -l packets -d 'Send at most N frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s d -l duration -d 'Stop after TIME, as in 10s or 500ms' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l sender -d 'Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)' -r -f -a "auto\t''
kernel\t''
socket\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l burst -d 'Most frames to catch up after the sender was delayed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l batch -d 'Frames in a batch, 1 to 256 (sender kernel)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l cpu -d 'Send from the Nth available CPU. A veth selects the receive queue by it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s n -l flows -d 'Number of flows, 1 to 16777216' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l order -d 'Order of flows: in turn, or at random' -r -f -a "turn\t''
random\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s s -l size -d 'Sizes on the cable: 512; 64,1518; 64:7,594:4,1518:1 with shares; 64-1518, 16 sizes in between; imix' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l class -d 'A class of flows: its share, the server\'s port and DSCP, as in 10:53 or 10:53:46; up to 8' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l seed -d 'Seed of the random traffic' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l no-numbers -d 'Omit the numbers at the end of frames; receivers with GRO then merge TCP segments'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l i-own-this-network -d 'Send on any interface, where others may receive the frames: you confirm that they are all yours'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -l both -d 'Send replies of the servers as well: with two interfaces, from the second'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from udp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s i -l interface -d 'Interface to send from; given twice: the clients\' end, then the servers\'' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s r -l rate -d 'Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s c -l packets -d 'Send at most N frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s d -l duration -d 'Stop after TIME, as in 10s or 500ms' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l sender -d 'Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)' -r -f -a "auto\t''
kernel\t''
socket\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l burst -d 'Most frames to catch up after the sender was delayed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l batch -d 'Frames in a batch, 1 to 256 (sender kernel)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l cpu -d 'Send from the Nth available CPU. A veth selects the receive queue by it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s n -l concurrent -d 'Connections open at once, 1 to 67108864' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l connections -d 'Number of connections [default: as many as are open at once; with --packets or --duration unlimited]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l segments -d 'Segments of data from each server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s s -l size -d 'Sizes of the servers\' data frames: 512; 64,1518; 64:7,594:4,1518:1 with shares; 64-1518, 16 sizes in between; imix' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l order -d 'Order of packets: one of each connection in turn, or connections at random' -r -f -a "turn\t''
random\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l class -d 'A class of connections: its share, the server\'s port and DSCP, as in 10:443 or 10:443:46; up to 8' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l vlan -d 'Tag frames (802.1Q) with this VLAN id' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l seed -d 'Seed of the random traffic' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l no-numbers -d 'Omit the numbers at the end of frames; receivers with GRO then merge TCP segments'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -l i-own-this-network -d 'Send on any interface, where others may receive the frames: you confirm that they are all yours'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s 6 -l ipv6 -d 'Use IPv6 [default: IPv4]'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from tcp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s i -l interface -d 'Interface to send from; given twice: the clients\' end, then the servers\'' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s r -l rate -d 'Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s c -l packets -d 'Send at most N frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s d -l duration -d 'Stop after TIME, as in 10s or 500ms' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l sender -d 'Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)' -r -f -a "auto\t''
kernel\t''
socket\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l burst -d 'Most frames to catch up after the sender was delayed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l batch -d 'Frames in a batch, 1 to 256 (sender kernel)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l cpu -d 'Send from the Nth available CPU. A veth selects the receive queue by it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l speed -d 'Multiple of the recorded pace; not with --rate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s l -l loops -d 'Number of loops [default: 1; with --packets or --duration unlimited]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s m -l memory -d 'Most memory for frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l longest -d 'Skip frames longer than this on the wire, numbers and FCS included' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l no-numbers -d 'Omit the numbers at the end of frames; receivers with GRO then merge TCP segments'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -l i-own-this-network -d 'Send on any interface, where others may receive the frames: you confirm that they are all yours'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s i -l interface -d 'Interface to send from; given twice: the clients\' end, then the servers\'' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s r -l rate -d 'Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s c -l packets -d 'Send at most N frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s d -l duration -d 'Stop after TIME, as in 10s or 500ms' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l sender -d 'Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)' -r -f -a "auto\t''
kernel\t''
socket\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l burst -d 'Most frames to catch up after the sender was delayed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l batch -d 'Frames in a batch, 1 to 256 (sender kernel)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l cpu -d 'Send from the Nth available CPU. A veth selects the receive queue by it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l seed -d 'Seed of the random addresses' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l no-numbers -d 'Omit the numbers at the end of frames; receivers with GRO then merge TCP segments'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -l i-own-this-network -d 'Send on any interface, where others may receive the frames: you confirm that they are all yours'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from syn-flood" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s i -l interface -d 'Interface to send from; given twice: the clients\' end, then the servers\'' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s r -l rate -d 'Rate, as in 1.5Mpps, 300kpps, 10Gbit, or flat: as fast as possible [default: flat; replay: its own pace]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s c -l packets -d 'Send at most N frames' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s d -l duration -d 'Stop after TIME, as in 10s or 500ms' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l sender -d 'Sender: kernel (XDP live frames of up to 3332 bytes), socket (packet socket), or auto (kernel if possible)' -r -f -a "auto\t''
kernel\t''
socket\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l burst -d 'Most frames to catch up after the sender was delayed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l batch -d 'Frames in a batch, 1 to 256 (sender kernel)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l cpu -d 'Send from the Nth available CPU. A veth selects the receive queue by it' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s s -l size -d 'Payload of a datagram, 16 to 65507 bytes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s f -l fragment -d 'Bytes of a datagram in each fragment: a multiple of 8' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l order -d 'Order of a datagram\'s fragments' -r -f -a "forward\t''
reverse\t''
random\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s n -l open -d 'Datagrams pending at once, a fragment of each after the other' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l datagrams -d 'Number of datagrams [default: 1000; with --packets or --duration unlimited]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l holes -d 'Thousandths of datagrams that lack a fragment' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l overlaps -d 'Thousandths of datagrams with a fragment that overlaps others, with the same bytes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l conflicts -d 'Thousandths of datagrams with a fragment that overlaps others, with different bytes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l out-of-bounds -d 'Thousandths of datagrams with a last fragment that ends beyond 65535 bytes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l repeats -d 'Thousandths of datagrams with a fragment that is sent twice' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l vlan -d 'Tag frames (802.1Q) with this VLAN id' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l seed -d 'Seed of the random flaws' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l no-numbers -d 'Omit the numbers at the end of frames; receivers with GRO then merge TCP segments'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -l i-own-this-network -d 'Send on any interface, where others may receive the frames: you confirm that they are all yours'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s 6 -l ipv6 -d 'Use IPv6 [default: IPv4]'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from fragments" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from missing" -s c -l packets -d 'Number of frames sent. Without it the greatest number received counts: frames lost after it are not detected' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from missing" -l limit -d 'Print at most N ranges' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from missing" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from missing" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from sink" -s i -l interface -d 'The receiving interface' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from sink" -s d -l duration -d 'Stop after TIME [default: until Ctrl-C]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from sink" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from sink" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "udp" -d 'UDP datagrams of many flows'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "tcp" -d 'TCP connections from handshake to FIN, many at once'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "replay" -d 'Replay captures from memory, at their own pace, faster, or at a rate'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "syn-flood" -d 'A flood of TCP SYNs, each from another address'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "fragments" -d 'UDP datagrams in fragments, valid and invalid ones'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "missing" -d 'Find sent frames that are missing in captures'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "sink" -d 'The other end of a cable: count frames and drop them, as early as the kernel can'
complete -c tidewire -n "__fish_tidewire_using_subcommand gen; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and not __fish_seen_subcommand_from net help" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and not __fish_seen_subcommand_from net help" -f -a "net" -d 'Cables (veth pairs) in private network namespaces'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and not __fish_seen_subcommand_from net help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from net" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from net" -f -a "up" -d 'Make a network, for a command or until it is removed'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from net" -f -a "down" -d 'Remove networks, and remains of them'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from net" -f -a "list" -d 'List the networks'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from net" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "net" -d 'Cables (veth pairs) in private network namespaces'
complete -c tidewire -n "__fish_tidewire_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l exec -d 'Start CMD (sh -c) with the records on its standard input, in JSON unless --raw is given. Restart and reattach it whenever it ends, after 0.1 s to 30 s' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l socket -d 'The sensor\'s socket [default: queues.sock in --directory, else TIDEWIRE_SOCKET]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l directory -d 'The sensor\'s directory [default: /run/tidewire]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l name -d 'Name of this reader in `tidewire sensor status` [default: TIDEWIRE_NAME, else attach]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l group -d 'Join a group of readers: each stream goes to one of its members [default: TIDEWIRE_GROUP, else none]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l kind -d 'Only records of these kinds: open, data, gap, conflict, close, packet' -r -f -a "open\t''
data\t''
gap\t''
conflict\t''
close\t''
packet\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l direction -d 'Only records of one direction: c2s (client) or s2c (server); opens and closes belong to both' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l stream -d 'Only records of one stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l limit -d 'Stop after N records' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l json -d 'One JSON object for each record (docs/output.md)'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l raw -d 'Each record as in shared memory: a slot of 64 bytes, then its payload (docs/queues.md)'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l once -d 'Do not start CMD again; its exit status is that of this command'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -l follow -d 'When the queue ends, wait for the sensor\'s next one and continue; also wait for the first'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -s q -l quiet -d 'Print no message at the end'
complete -c tidewire -n "__fish_tidewire_using_subcommand attach" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l store -d 'A store, a folder of stores as a collector has them, or .jsonl files (a folder of them) that a destination of a sensor wrote. May be repeated' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l directory -d 'The directory of the sensor whose store is read [default: /run/tidewire]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l identity -d 'A file of identities (AGE-SECRET-KEY-1…) that read encrypted events, as tidewire keys identity makes it. May be repeated' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l since -d 'Only events since then: how long ago (1h, 30m), a time (2026-11-23T06:00:00Z, 06:00), or seconds or nanoseconds since 1970' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l until -d 'Only events until then, as for --since; of a time with few digits, until the end of all times that begin with them' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l kind -d 'Only events of these kinds, as in scan.horizontal or \'scan.*\'' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l severity -d 'Only events of this severity or worse: info, low, medium, high, critical' -r -f -a "info\t''
low\t''
medium\t''
high\t''
critical\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l analyzer -d 'Only events of these analyzers' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l limit -d 'Print the last N rows; with --expand the first N events, with --follow N rows and end' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l active-timeout -d 'Of streams that go on, write a record of IPFIX and NetFlow every TIME, with what they did since the one before; 0: at their ends only [default: 1m]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l rotate -d 'Complete a file of --to at SIZE, after TIME, or both, as in 100M,1h, and begin the next one: eve.json becomes eve.20261122T063000Z.000001.json' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l keep -d 'Remove the oldest complete files of --to beyond BOUNDS of them all, as in size=10G,age=30d,free=5G,files=100: with --rotate' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l columns -d 'Columns of the table or of --csv: client,server; or changes: +client,-server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l time -d 'Format of times: local (honours TZ), utc, iso (ISO 8601 with the offset) or epoch (seconds) [default: local]' -r -f -a "local\t'`2026-11-21 05:00:48.885960` in the time zone of `TZ`, else of the system'
utc\t'The same in UTC'
iso\t'`2026-11-21T05:00:48.885960+01:00` (ISO 8601, RFC 3339), in the zone of `local`'
epoch\t'`1795233648.885960`: seconds since 1970-01-01 00:00 UTC'"
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l to -d 'Write every record to PLACE, as in json:PLACE: json, csv, sqlite, parquet, arrow (repeatable)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l format -d 'As --to NAME:-, on standard output: json, csv, arrow' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l eve-types -d 'Which records of eve are written [default: all but netflow]: alert, anomaly, dns, fileinfo, flow, http, mdns, netflow, quic, ssh, stats, tls' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l ipfix-enterprise -d 'Add elements of our own to IPFIX under this private enterprise number: service, names, JA4, Community ID, missing bytes and others (docs/formats.md)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l udp-rate -d 'Send at most so many messages a second over UDP, of about 16 records each; 0: as they come [default: 2000]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l expand -d 'Print the originals, in order'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l follow -d 'Print new events as they are stored, until Ctrl-C; with --since, those since then first'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l json -d 'Print JSON, one object on each line (docs/output.md)'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l csv -d 'Print comma-separated values, with a header line'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -l wide -d 'Show all columns that have a value, however long the lines are'
complete -c tidewire -n "__fish_tidewire_using_subcommand events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and not __fish_seen_subcommand_from emit help" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and not __fish_seen_subcommand_from emit help" -f -a "emit" -d 'Emit an event, or those of standard input'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and not __fish_seen_subcommand_from emit help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l kind -d 'Kind of the event, as in login.failed; without it, events are read from standard input' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l severity -d 'How bad it is: info, low, medium, high, critical [default: info]' -r -f -a "info\t''
low\t''
medium\t''
high\t''
critical\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l field -d 'A further field, as in user=alice or user:text=1. May be repeated' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l client -d 'The client: an address, or an address and a port, as in 192.0.2.7:40000 (IPv6 with a port in brackets)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l server -d 'The server' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l proto -d 'The protocol: tcp, udp, icmp … or a number [default: tcp]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l stream -d 'The id of the stream' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l time -d 'When it was, as for tidewire events --since [default: now]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l excerpt -d 'Text that the event is about, at most 4096 bytes' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l analyzer -d 'Who found it [default: TIDEWIRE_NAME, else command]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l directory -d 'The sensor\'s directory [default: that of TIDEWIRE_EVENTS, else /run/tidewire]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -l wait -d 'How long storing may take [default: 30s]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from emit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from help" -f -a "emit" -d 'Emit an event, or those of standard input'
complete -c tidewire -n "__fish_tidewire_using_subcommand event; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l by -d 'Fields that select the output: addresses; or ports: addresses and ports, but fragments by addresses only, so that they may leave another way than the rest of their flow' -r -f -a "addresses\t''
ports\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l steering -d 'Select the output by a steering program (docs/steering.md) whose workers are the outputs; @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l tunnels -d 'Most nested tunnels to decode' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l mode -d 'Where the program runs: native (in the driver), generic (after it), or auto (native if possible)' -r -f -a "auto\t''
native\t''
generic\t''"
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l check -d 'Only report the conversations of a capture file that would be divided; exit status 1 if there are any' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -s d -l duration -d 'Stop after TIME [default: until Ctrl-C]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l json -d 'Print one JSON object'
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -s q -l quiet -d 'Print no progress'
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -l i-own-this-network -d 'Allow an IN with an IP address: this machine no longer receives traffic there'
complete -c tidewire -n "__fish_tidewire_using_subcommand split" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -s n -l instances -d 'Number of instances, 1 to 256 [default: one for each CPU]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -s f -l fanout -d 'How instances share packets: hash, lb, cpu, rollover, rnd, qm, cbpf, ebpf, data; with flags, as in hash+defrag; or a steering program [default: from the configuration, else hash]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l steer -d 'Share packets by a steering program (docs/steering.md); @FILE reads it from a file' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l group -d 'The fan-out group that the instances join, 0 to 255 [default: from the configuration, else an unused one]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l engine -d 'The capture engine: system (libpcap), packet, xdp, xdp-generic or auto' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l locality -d 'Reorder packets so that those of a flow come together: off, port, service, flow or auto; with settings, as in port,batch=8000,timeout=50ms,thread' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l config -d 'The drop-in library\'s configuration file (tidewire-pcap(7)) [default: PCAP_CONFIG, ~/.pcap.conf or /etc/pcap.conf]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l report -d 'Write the report to FILE [default: standard error]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l every -d 'Also report every TIME while the instances run' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l no-substitute -d 'Do not replace `%i` and `%%` in arguments'
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l no-pin -d 'Do not bind instance N to the Nth CPU'
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l together -d 'End all instances (SIGTERM) when the first one ends [default: the others continue and get its packets]'
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -l json -d 'Print the report as JSON'
complete -c tidewire -n "__fish_tidewire_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -s i -l interface -d 'Capture from this interface, or several joined by colons, instead of what FILE names. May be repeated' -r -f -a "(echo any; command ls /sys/class/net 2>/dev/null)"
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -s r -l read -d 'Read capture files, at full speed and without loss, instead of what FILE names; - is standard input. All words after -r are captures: FILE is first' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -l wait-for -d 'Over files: read the first packet when each queue has so many readers [default: the analyzers of FILE]' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -l metrics -d 'Serve OpenMetrics of all parts at http://ADDR/metrics, as 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -l directory -d 'Where the sockets are made [default: that of FILE, else /run/tidewire]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -l check -d 'Print every mistake of the configuration, or what would be started, and end'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -a "status" -d 'Show a running sensor: parts, queues, readers with their lag and losses'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and not __fish_seen_subcommand_from status help" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and __fish_seen_subcommand_from status" -l directory -d 'The sensor\'s directory' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and __fish_seen_subcommand_from status" -l json -d 'One JSON object (docs/output.md)'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show a running sensor: parts, queues, readers with their lag and losses'
complete -c tidewire -n "__fish_tidewire_using_subcommand sensor; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l listen -d 'Where sensors connect, as 192.0.2.1:9610 or :9610 (every address of this host). May be repeated' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l store -d 'The folder with a folder for each sensor; it is made' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l keys -d 'Key, certificate and authority in one file, as \'tidewire keys collector\' makes it' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l authority -d 'The authority whose sensors are believed, instead of that in --keys' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l certificate -d 'The certificate, instead of that in --keys' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l key -d 'Its key, instead of that in --keys' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l refused -d 'Refuse these although the authority signed them: a name of a sensor, or \'serial\' and the serial number of a certificate, on each line (tidewire keys show has both)' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l sensor-size -d 'Keep so much of each sensor; beyond it the oldest of the least severe is removed' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l sensor-age -d 'Keep events for so long' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l sensor-rate -d 'A sensor that sends more bytes in a second has to wait (before compression; \'all\': it never waits)' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l connections -d 'Sensors that may be connected at a time' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l metrics -d 'Serve OpenMetrics at http://ADDR/metrics, as 127.0.0.1:9600' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -l no-sandbox -d 'Keep all rights of the process; without it, it reads and writes the store and reads keys only'
complete -c tidewire -n "__fish_tidewire_using_subcommand collect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "collector" -d 'Make the key and certificate of a collector'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "sensor" -d 'Make the key and certificate of a sensor'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "authority" -d 'Make an authority, which signs the certificates of all others'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "renew" -d 'Replace keys and certificates by new ones with the same names'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "show" -d 'Show certificates: whose, what for, until when'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "identity" -d 'Make an identity that reads encrypted events and archives'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "recipient" -d 'Print the recipients of a file with identities'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and not __fish_seen_subcommand_from collector sensor authority renew show identity recipient help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from collector" -s o -l output -d 'The file that is made' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from collector" -l authority -d 'The authority; one is made if there is no such file' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from collector" -l valid -d 'How long the certificate is valid, at most as long as the authority' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from collector" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from sensor" -s o -l output -d 'The file that is made [default: NAME.pem]' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from sensor" -l authority -d 'The authority; one is made if there is no such file' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from sensor" -l valid -d 'How long the certificate is valid, at most as long as the authority' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from sensor" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from authority" -s o -l output -d 'The file that is made' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from authority" -l valid -d 'How long it is valid' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from authority" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from renew" -l authority -d 'The authority' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from renew" -l valid -d 'How long the certificates are valid, at most as long as the authority' -r
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from show" -l json -d 'One JSON object a certificate (docs/delivery.md)'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from identity" -s o -l output -d 'The file that is made. Keep it where events and archives are read, not on sensors and recorders' -r -F
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from identity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from recipient" -s h -l help -d 'Print help'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "collector" -d 'Make the key and certificate of a collector'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "sensor" -d 'Make the key and certificate of a sensor'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "authority" -d 'Make an authority, which signs the certificates of all others'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "renew" -d 'Replace keys and certificates by new ones with the same names'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show certificates: whose, what for, until when'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "identity" -d 'Make an identity that reads encrypted events and archives'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "recipient" -d 'Print the recipients of a file with identities'
complete -c tidewire -n "__fish_tidewire_using_subcommand keys; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "flows" -d 'List flows: addresses, service and name, packets, bytes, state'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "streams" -d 'List streams: bytes reassembled, gaps, conflicts, anomalies'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "extract" -d 'Write each direction\'s bytes to a file, with an index'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "follow" -d 'Print one conversation, both directions in order of delivery'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "match" -d 'Search streams for byte patterns, across segment borders'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "datagrams" -d 'List datagrams that arrived in fragments: rebuilt or rejected'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "transactions" -d 'List DNS queries, HTTP requests, handshakes of TLS and SSH ...'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "recall" -d 'Find packets in archives: by time, address, stream, expression'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "record" -d 'Record packets into an archive, to be found again'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "count" -d 'Count packets, bits and drops a second, decoding nothing'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "top" -d 'Watch interfaces on a terminal: rates, losses, largest flows'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "check-steering" -d 'Name the flows that a fan-out mode or program would split'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "gen" -d 'Send synthetic traffic, and report what was sent'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "lab" -d 'Make private networks for experiments'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "attach" -d 'Read a queue of a running sensor, for programs in any language'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "events" -d 'Show what analyzers of a sensor found, folded'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "event" -d 'Emit events of your own to a running sensor'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "split" -d 'Split one link over several, keeping conversations together'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "run" -d 'Run instances of a libpcap program that share packets'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "sensor" -d 'Capture once for many programs, each in a process of its own'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "collect" -d 'Receive events from sensors, each proven by a certificate'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "keys" -d 'Make keys and certificates for sensors and collectors'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and not __fish_seen_subcommand_from flows streams extract follow match datagrams transactions recall record count top check-steering gen lab attach events event split run sensor collect keys help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from record" -f -a "trigger" -d 'Fire the trigger of a recorder that looks back (--keep-last)'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "udp" -d 'UDP datagrams of many flows'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "tcp" -d 'TCP connections from handshake to FIN, many at once'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "replay" -d 'Replay captures from memory, at their own pace, faster, or at a rate'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "syn-flood" -d 'A flood of TCP SYNs, each from another address'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "fragments" -d 'UDP datagrams in fragments, valid and invalid ones'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "missing" -d 'Find sent frames that are missing in captures'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from gen" -f -a "sink" -d 'The other end of a cable: count frames and drop them, as early as the kernel can'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "net" -d 'Cables (veth pairs) in private network namespaces'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from event" -f -a "emit" -d 'Emit an event, or those of standard input'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from sensor" -f -a "status" -d 'Show a running sensor: parts, queues, readers with their lag and losses'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "collector" -d 'Make the key and certificate of a collector'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "sensor" -d 'Make the key and certificate of a sensor'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "authority" -d 'Make an authority, which signs the certificates of all others'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "renew" -d 'Replace keys and certificates by new ones with the same names'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "show" -d 'Show certificates: whose, what for, until when'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "identity" -d 'Make an identity that reads encrypted events and archives'
complete -c tidewire -n "__fish_tidewire_using_subcommand help; and __fish_seen_subcommand_from keys" -f -a "recipient" -d 'Print the recipients of a file with identities'
