/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Decides which packets reach user space, and counts the others. One source for two kinds of programs: compiled with
 * READ_XDP for XDP, else for socket filters.
 *
 *   entry ── filter? ─► FILTER ─► REFUSED
 *     │                    ▼
 *     └────────────────► FLOW ── cut? shed? ─► counted, and dropped
 *                          ▼
 *                       deliver: STEER (─► UNSTEERED), a socket of `xsks`, the stack, the packet socket */
#include "flows.h"

#ifdef READ_XDP

typedef struct xdp_md context;
#define PROGRAM SECTION("xdp.frags")

struct {
    NUMBER(type, BPF_MAP_TYPE_XSKMAP);
    NUMBER(max_entries, 1);
    TYPE(key, u32);
    TYPE(value, u32);
} xsks SECTION(".maps");

INLINE u32 length(context *packet)
{
    if (has_frags)
        return bpf_xdp_get_buff_len(packet);
    return packet->data_end - packet->data;
}

/* The length costs a helper call: only made if the first buffer does not hold the packet. */
INLINE int read(context *from, struct packet *packet)
{
    struct cursor cursor = {.at = (void *)(long)from->data, .end = (void *)(long)from->data_end, .xdp = from};
    u32 linear_bytes = cursor.end - cursor.at;
    if (likely(parse(&cursor, linear_bytes, NO_TAG, packet)))
        return 1;
    packet->frame_bytes = length(from);
    return 0;
}

INLINE int dropped(void)
{
    return drop_action;
}

INLINE int delivered(context *packet, struct counters *counters)
{
    if (has_steering) {
        counters->steered += 1;
        bpf_tail_call(packet, &jump, STEER);
        counters->steered -= 1;
    }
    if (!has_sockets) {
        counters->delivered += 1;
        return XDP_PASS;
    }
    long verdict = bpf_redirect_map(&xsks, packet->rx_queue_index * workers, 0);
    if (verdict != XDP_REDIRECT) {
        counters->absent += 1;
        return drop_action;
    }
    counters->delivered += 1;
    return verdict;
}

#else

typedef struct __sk_buff context;
#define PROGRAM SECTION("socket")

/* A tag that the card or the kernel removed was on the wire. */
INLINE u32 length(context *packet)
{
    return packet->len + (packet->vlan_present ? 4 : 0);
}

INLINE int read(context *from, struct packet *packet)
{
    struct cursor cursor = {.skb = from, .at = 0};
    u32 outer = from->vlan_present ? from->vlan_tci & 0xfff : NO_TAG;
    return parse(&cursor, length(from), outer, packet);
}

/* Not copied to user space; the stack has it anyway. */
INLINE int dropped(void)
{
    return 0;
}

INLINE int delivered(context *packet, struct counters *counters)
{
    counters->delivered += 1;
    return -1;
}

#endif

INLINE struct counters *counters_here(void)
{
    u32 cpu = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&counts, &cpu);
}

INLINE u32 level(void)
{
    u32 first = 0;
    struct control *control = bpf_map_lookup_elem(&controls, &first);
    return control ? *(volatile u32 *)&control->level_permille : 0;
}

INLINE u32 class_of_port(u16 port)
{
    u32 index = port >> 3;
    u64 *eight = bpf_map_lookup_elem(&classes, &index);
    return eight ? *eight >> (port & 7) * 8 & PRIORITY : 0;
}

/* The priority of a direction without an entry. */
INLINE u32 class(const struct packet *packet)
{
    u32 priority = priority_default;
    if (has_classes) {
        u32 source = class_of_port(NETWORK16(packet->rest)), destination = class_of_port(NETWORK16(packet->rest >> 16));
        priority = source > priority ? source : priority;
        priority = destination > priority ? destination : priority;
    }
    return priority & PRIORITY;
}

/* Scap's rule, as in the engine (crates/tidewire-core/src/engine/shed.rs): above the watermark of its priority a packet is
 * shed; in the region just below it, if it lies beyond the overload cutoff of its stream. */
INLINE int is_shed(u32 priority, u64 position)
{
    u32 used = level() * priorities, base = base_permille * priorities, region = 1000 - base_permille;
    u32 rank = priority < priorities ? priority : priorities - 1;
    if (used <= base + region * rank)
        return 0;
    return used > base + region * (rank + 1) || position >= overload_cutoff_bytes;
}

enum fate { DELIVER, DROP };

INLINE enum fate shed(struct slot *slot, const struct packet *packet, u32 is_v6, u32 from, u32 room, struct counters *to)
{
    u32 priority = slot ? slot->kind & PRIORITY : class(packet);
    u64 position = slot ? (u64)slot->passed_bytes + slot->payload_bytes : 0;
    int is_over = is_shed(priority, position);

    /* Shed packets count for their direction, too, and the overload cutoff needs the progress of the direction. */
    if (!slot && (is_over || overload_cutoff_bytes != 0xffffffff)) {
        if (room == PROBES) {
            to->map_full += 1;
        } else if ((slot = make(packet, is_v6, from + room, priority))) {
            to->made += 1;
            to->made6 += is_v6;
        }
    }
    if (!is_over) {
        if (slot && slot->passed_bytes < 1U << 31)
            slot->passed_bytes += packet->payload_bytes;
        return DELIVER;
    }
    if (slot)
        count(slot, packet, is_v6);
    to->shed[priority] += 1;
    to->shed_bytes += packet->frame_bytes;
    return DROP;
}

INLINE enum fate look_up(struct packet *packet, u32 is_v6, struct counters *to)
{
    u64 sum = hash_sum(packet);
    u32 from = hash_place(sum), room = PROBES;

    if (is_v6)
        packet->addresses = sum;
    struct slot *slot = find(packet, is_v6, from, &room);
    if (likely(slot && slot->kind & IS_CUT)) {
        if (unlikely(!count(slot, packet, is_v6)))
            return DELIVER;
        to->cut += 1;
        to->cut_bytes += packet->frame_bytes;
        return DROP;
    }
    if (is_auto && !slot) {
        if (room == PROBES) {
            to->map_full += 1;
        } else if (make(packet, is_v6, from + room, IS_CUT)) {
            to->made += 1;
            to->made6 += is_v6;
        }
        return DELIVER;
    }
    return has_shed ? shed(slot, packet, is_v6, from, room, to) : DELIVER;
}

/* `is_new`: its bytes were not counted yet. */
INLINE int flow(context *from, int is_new, struct counters *counters)
{
    struct packet packet;
    enum fate fate = DELIVER;

    if (!has_flows) {
        if (is_new)
            counters->received_bytes += length(from);
        return delivered(from, counters);
    }
    int is_known = read(from, &packet);
    if (is_new)
        counters->received_bytes += packet.frame_bytes;
    if (!is_known)
        counters->unparsed += 1;
    else if (unlikely(packet.tcp_flags & FIN_SYN_RST))
        counters->kept += 1;
    else if (packet.is_v6)
        fate = look_up(&packet, 1, counters);
    else
        fate = look_up(&packet, 0, counters);
    return fate == DROP ? dropped() : delivered(from, counters);
}

PROGRAM int tidewire_entry(context *packet)
{
    struct counters *counters = counters_here();
    if (!counters)
        return dropped();
    counters->received += 1;
    if (!has_filter)
        return flow(packet, 1, counters);
    counters->received_bytes += length(packet);
    bpf_tail_call(packet, &jump, FILTER);
    /* If the filter is missing, nothing passes unfiltered. */
    counters->filtered += 1;
    return dropped();
}

PROGRAM int tidewire_flow(context *packet)
{
    struct counters *counters = counters_here();
    return counters ? flow(packet, 0, counters) : dropped();
}

PROGRAM int tidewire_refused(context *packet)
{
    struct counters *counters = counters_here();
    if (counters) {
        counters->filtered += 1;
        counters->filtered_bytes += length(packet);
    }
    return dropped();
}

PROGRAM int tidewire_unsteered(context *packet)
{
    struct counters *counters = counters_here();
    if (counters)
        counters->unsteered += 1;
    return dropped();
}

/* Returns the current tick to user space. Never attached. */
PROGRAM int tidewire_tick(context *packet)
{
    return bpf_jiffies64();
}

const char _license[] SECTION("license") = "Dual MIT/GPL";
