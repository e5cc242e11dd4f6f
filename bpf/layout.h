/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by user space and the programs: settings, counters, slots of the flow tables. The other side is
 * crates/tidewire-live/src/kernel/layout.rs. */
#ifndef TIDEWIRE_LAYOUT_H
#define TIDEWIRE_LAYOUT_H

#include "kernel.h"

/* Indices of `jump`. */
enum { FILTER, FLOW, REFUSED, STEER, UNSTEERED, JUMPS };

/* Settings, written before loading; the verifier knows their values and removes what is not used. */

/* Whether a filter is loaded. */
const volatile u32 has_filter = 0;
/* Whether a steering program is loaded. */
const volatile u32 has_steering = 0;
/* Whether packets go to the sockets in `xsks`; else they are passed on (XDP), or accepted (socket filter). */
const volatile u32 has_sockets = 0;
/* Whether frames may have more than one buffer (a helper then returns their length). */
const volatile u32 has_frags = 1;
/* Factor of the queue in an index of `xsks`. */
const volatile u32 workers = 1;
/* What XDP returns for packets that are not delivered. */
const volatile u32 drop_action = XDP_DROP;
/* Whether a flow table is used at all. */
const volatile u32 has_flows = 1;
/* Whether packets of one direction may be processed on two CPUs at once. */
const volatile u32 is_shared = 1;
/* Whether this CPU's stores may become visible in another order (all but x86). */
const volatile u32 is_weak = 1;
/* Whether directions are cut after their first packet that is not a SYN. */
const volatile u32 is_auto = 0;
/* Whether VLAN ids are part of a flow's key. */
const volatile u32 key_vlan = 1;
/* Slots of each table, less one; a power of two, less one. */
const volatile u32 slots4_mask = 0;
const volatile u32 slots6_mask = 0;
/* Key of the hash: one number for each 32 bits of a flow's key, and one more. */
const volatile u64 hash_key[11] = {};
/* Datagrams from or to these UDP ports may be tunnels, which the engine decapsulates; as on the wire; 0: none. */
const volatile u16 tunnel_destinations[8] = {};
const volatile u16 tunnel_ports[8] = {};
/* Prioritized loss: whether it is enabled, and the rule's figures. */
const volatile u32 has_shed = 0;
const volatile u32 base_permille = 500;
const volatile u32 priorities = 1;
const volatile u32 overload_cutoff_bytes = 0xffffffff;
/* The default priority of directions. */
const volatile u32 priority_default = 0;
/* Whether ports have priorities. */
const volatile u32 has_classes = 0;

/* Counters, separate for each CPU. Every received packet is counted in exactly one of the final places:
 * filtered, cut, shed, delivered, absent, unsteered. */
struct counters {
    u64 received;
    u64 received_bytes;
    u64 cut;
    u64 cut_bytes;
    u64 delivered;
    u64 steered; /* passed to the steering program, which delivers, or continues in UNSTEERED */
    u64 made;    /* entries that the program created unasked, of both tables */
    u64 map_full;
    u64 filtered;
    u64 filtered_bytes;
    u64 absent; /* no socket at the index */
    u64 unsteered;
    u64 unparsed;
    u64 kept; /* SYN, FIN, RST: delivered in any case */
    u64 made6; /* of `made`, those for IPv6 */
    u64 shed_bytes;
    u64 shed[8];
    u64 spare[8];
};

/* What user space and the programs publish to each other while packets arrive. */
struct control {
    u32 level_permille; /* of the memory in use */
    u32 spare;
    u64 clocks; /* a tick and, << 32, when it was: monotonic clock, in units of 2^20 ns. The programs read it at times */
    u64 more[6];
};

/* A flow table is an array of these: open addressing, one cache line (IPv6: two) a direction of a flow, so that a packet
 * costs one cache miss, and user space reads and writes entries in its own memory, without system calls.
 *
 * To count into an entry, a program adds 1 to `begun` and reads the previous value: if CLOSED was set, the entry is gone,
 * and nothing is done. Otherwise the entry is not freed before `done` is as high. To end an entry, user space sets CLOSED
 * and waits for `done` to reach the count that `begun` had: then no program counts into it, and nothing is lost. Because an
 * entry may be reused between its look-up and the count, its key is compared again after `begun`. */
#define CLOSED (1ULL << 63)
#define WITHDRAWN (1ULL << 48)

struct slot {
    u64 addresses;     /* IPv4: source and destination, as on the wire; IPv6: the sum that is hashed */
    u64 rest;          /* ports as on the wire, VLAN ids << 32, protocol << 56; or a state without entry */
    u64 begun;         /* packets; << 48: how many of them were another entry's; and CLOSED */
    u64 wire_bytes;    /* of whole frames */
    u64 ip_bytes;      /* by the IP header's length */
    u64 payload_bytes; /* of the transport */
    u32 end;           /* TCP: the highest sequence number beyond the payload; 0: none yet */
    u32 last;          /* when the last packet came, in the kernel's ticks */
    u32 passed_bytes;  /* payload delivered so far; kept where packets are shed, and there up to 2 GiB */
    u8 kind;           /* IS_CUT, or that it has a priority and counts shed packets; and the priority */
    u8 tcp_flags;      /* all of them together */
    u16 done;          /* as `begun`, the lowest bits */
};

#define IS_CUT 0x80
#define PRIORITY 7

/* States of a slot without entry, in `rest`. A key has its protocol in the highest byte. */
#define EMPTY 0ULL /* never used, or nothing beyond it: a search ends here */
#define FREED 1ULL /* used before */
#define BUSY 2ULL  /* an entry is being written */

struct slot6 {
    struct slot common;
    u64 address[4]; /* source, destination */
    u64 spare[4];
};

/* Slots probed for a key, from the place of its hash. */
#define PROBES 32

struct {
    NUMBER(type, BPF_MAP_TYPE_ARRAY);
    NUMBER(map_flags, BPF_F_MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct slot);
} flows4 SECTION(".maps");

struct {
    NUMBER(type, BPF_MAP_TYPE_ARRAY);
    NUMBER(map_flags, BPF_F_MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct slot6);
} flows6 SECTION(".maps");

/* One entry for each CPU. */
struct {
    NUMBER(type, BPF_MAP_TYPE_ARRAY);
    NUMBER(map_flags, BPF_F_MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct counters);
} counts SECTION(".maps");

struct {
    NUMBER(type, BPF_MAP_TYPE_ARRAY);
    NUMBER(map_flags, BPF_F_MMAPABLE);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, struct control);
} controls SECTION(".maps");

/* The priority of each port, eight ports a value; ports in the host's order. */
struct {
    NUMBER(type, BPF_MAP_TYPE_ARRAY);
    NUMBER(map_flags, BPF_F_MMAPABLE);
    NUMBER(max_entries, 8192);
    TYPE(key, u32);
    TYPE(value, u64);
} classes SECTION(".maps");

struct {
    NUMBER(type, BPF_MAP_TYPE_PROG_ARRAY);
    NUMBER(max_entries, JUMPS);
    TYPE(key, u32);
    TYPE(value, u32);
} jump SECTION(".maps");

#endif
