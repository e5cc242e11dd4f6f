/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The flow tables: look-up, creation and counting of entries, by the rules in layout.h. */
#ifndef TIDEWIRE_FLOWS_H
#define TIDEWIRE_FLOWS_H

#include "packet.h"

#define BARRIER() asm volatile("" ::: "memory")

/* The sum that is hashed: multilinear over 32-bit parts (Carter and Wegman; Lemire and Kaser, "Strongly universal string
 * hashing is fast"): without the numbers, a sender cannot make keys collide more often than by chance. */
INLINE u64 hash_sum(const struct packet *packet)
{
    u64 sum = hash_key[10] + hash_key[8] * (u32)packet->rest + hash_key[9] * (packet->rest >> 32);

    if (!packet->is_v6)
        return sum + hash_key[0] * (u32)packet->addresses + hash_key[1] * (packet->addresses >> 32);
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum += hash_key[2 * i] * (u32)packet->address[i] + hash_key[2 * i + 1] * (packet->address[i] >> 32);
    return sum;
}

/* The place where the search begins. Sums of neighbouring keys are evenly spaced; mixing makes them random. */
INLINE u32 hash_place(u64 sum)
{
    sum ^= sum >> 32;
    sum *= 0x9e3779b97f4a7c15ULL;
    return sum >> 32;
}

INLINE struct slot *slot_at(u32 is_v6, u32 place)
{
    u32 index = place & (is_v6 ? slots6_mask : slots4_mask);
    return bpf_map_lookup_elem(is_v6 ? (void *)&flows6 : (void *)&flows4, &index);
}

INLINE int is_of(const struct slot *slot, const struct packet *packet, u32 is_v6)
{
    const volatile struct slot *now = slot;
    if (now->rest != packet->rest || now->addresses != packet->addresses)
        return 0;
    if (!is_v6)
        return 1;
    const volatile struct slot6 *six = (const void *)slot;
    return ((six->address[0] ^ packet->address[0]) | (six->address[1] ^ packet->address[1]) |
            (six->address[2] ^ packet->address[2]) | (six->address[3] ^ packet->address[3])) == 0;
}

/* Publishes the time of a tick to user space now and then: reading the clock is expensive. */
#define TICKS_APART 64

INLINE u32 now(void)
{
    u32 tick = bpf_jiffies64(), first = 0;
    struct control *control = bpf_map_lookup_elem(&controls, &first);

    if (control && unlikely(tick - *(volatile u32 *)&control->clocks > TICKS_APART))
        *(volatile u64 *)&control->clocks = tick | bpf_ktime_get_coarse_ns() >> 20 << 32;
    return tick;
}

/* The result of a search: distance of the entry from the beginning, or of the first place where one could be created
 * (PROBES: none). */
#define FOUND (1U << 31)

INLINE u32 search(const struct packet *packet, u32 is_v6, u32 from)
{
    u32 room = PROBES;
    for (u32 i = 0; i < PROBES; i++) {
        struct slot *slot = slot_at(is_v6, from + i);
        if (!slot)
            return PROBES;
        if (is_of(slot, packet, is_v6))
            return i | FOUND;
        u64 rest = *(volatile u64 *)&slot->rest;
        if (rest <= FREED && room == PROBES)
            room = i;
        if (rest == EMPTY)
            break;
    }
    return room;
}

/* Global functions, which the verifier checks once, not for each path that leads to them. */
__attribute__((noinline)) u32 tidewire_search4(u64 addresses, u64 rest, u32 from)
{
    struct packet packet = {.addresses = addresses, .rest = rest};
    return search(&packet, 0, from);
}

__attribute__((noinline)) u32 tidewire_search6(struct packet *packet, u32 from)
{
    return packet ? search(packet, 1, from) : PROBES;
}

/* The direction's entry, or none and the place where one could be created. Most searches end where they begin. */
INLINE struct slot *find(struct packet *packet, u32 is_v6, u32 from, u32 *room)
{
    struct slot *slot = slot_at(is_v6, from);
    if (likely(slot && is_of(slot, packet, is_v6)))
        return slot;
    if (slot && *(volatile u64 *)&slot->rest == EMPTY) {
        *room = 0;
        return 0;
    }
    u32 end = is_v6 ? tidewire_search6(packet, from) : tidewire_search4(packet->addresses, packet->rest, from);
    *room = end & ~FOUND;
    return end & FOUND ? slot_at(is_v6, from + *room) : 0;
}

/* Creates an entry, or none if another CPU was faster: then the next packet creates it. */
INLINE struct slot *make(const struct packet *packet, u32 is_v6, u32 place, u32 kind)
{
    struct slot *slot = slot_at(is_v6, place);
    if (!slot)
        return 0;
    u64 before = *(volatile u64 *)&slot->rest;
    if (before > FREED || __sync_val_compare_and_swap(&slot->rest, before, BUSY) != before)
        return 0;
    /* No CPU counts into it: it is CLOSED since it was freed, or was never used and matches no key. */
    slot->begun = CLOSED;
    slot->addresses = packet->addresses;
    if (is_v6) {
        struct slot6 *six = (void *)slot;
#pragma unroll
        for (int i = 0; i < 4; i++)
            six->address[i] = packet->address[i];
    }
    slot->wire_bytes = slot->ip_bytes = slot->payload_bytes = 0;
    slot->end = slot->passed_bytes = 0;
    slot->last = now();
    slot->kind = kind;
    slot->tcp_flags = slot->done = 0;
    BARRIER();
    if (is_weak)
        __sync_lock_test_and_set(&slot->rest, packet->rest);
    else
        *(volatile u64 *)&slot->rest = packet->rest;
    BARRIER();
    /* From here on it can be found and counted into. */
    __sync_lock_test_and_set(&slot->begun, 0);
    return slot;
}

/* The highest sequence number so far. */
INLINE void raise_end(struct slot *slot, u32 end)
{
    if (!is_shared) {
        if (slot->end == 0 || (s32)(end - slot->end) > 0)
            slot->end = end;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u32 before = *(volatile u32 *)&slot->end;
        if (before != 0 && (s32)(end - before) <= 0)
            return;
        if (__sync_val_compare_and_swap(&slot->end, before, end) == before)
            return;
    }
}

INLINE void add(u64 *to, u64 what)
{
    if (is_shared)
        __sync_fetch_and_add(to, what);
    else
        *to += what;
}

/* Counts a packet that user space will not see. Returns 0 if the entry was ended meanwhile: nothing was counted. */
INLINE int count(struct slot *slot, const struct packet *packet, u32 is_v6)
{
    u32 *last_word = (u32 *)&slot->kind;

    if (unlikely(__sync_fetch_and_add(&slot->begun, 1) & CLOSED))
        return 0;
    int is_ours = is_of(slot, packet, is_v6);
    if (likely(is_ours)) {
        add(&slot->wire_bytes, packet->frame_bytes);
        add(&slot->ip_bytes, packet->ip_bytes);
        add(&slot->payload_bytes, packet->payload_bytes);
        *(volatile u32 *)&slot->last = now();
        if (packet->is_tcp) {
            raise_end(slot, packet->end);
            if (unlikely(packet->tcp_flags & ~slot->tcp_flags))
                __sync_fetch_and_or(last_word, packet->tcp_flags << 8);
        }
    } else {
        __sync_fetch_and_add(&slot->begun, WITHDRAWN);
    }
    BARRIER();
    if (is_shared || is_weak)
        __sync_fetch_and_add(last_word, 1U << 16);
    else
        *(volatile u16 *)&slot->done += 1;
    return is_ours;
}

#endif
