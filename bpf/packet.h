/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet to a direction's key. A packet that is not clearly a whole TCP, UDP or SCTP packet outside tunnels is left
 * to user space: it has no key, and passes. Other packets are read here as in crates/tidewire-wire. */
#ifndef TIDEWIRE_PACKET_H
#define TIDEWIRE_PACKET_H

#include "layout.h"

/* Two ways to access a packet's bytes: `peek` returns a pointer to the next `bytes` of them, or none. */
#ifdef READ_XDP

struct cursor {
    void *at;
    void *end;
    struct xdp_md *xdp;
};

/* The frame's length, if its first buffer (`frame_bytes`) does not hold the whole packet. */
INLINE u32 whole(const struct cursor *cursor, u32 frame_bytes)
{
    return has_frags ? bpf_xdp_get_buff_len(cursor->xdp) : frame_bytes;
}

INLINE const void *peek(const struct cursor *cursor, void *room, u32 bytes)
{
    return cursor->at + bytes <= cursor->end ? cursor->at : 0;
}

#else

struct cursor {
    const struct __sk_buff *skb;
    u32 at;
};

INLINE u32 whole(const struct cursor *cursor, u32 frame_bytes)
{
    return frame_bytes;
}

INLINE const void *peek(const struct cursor *cursor, void *room, u32 bytes)
{
    return bpf_skb_load_bytes(cursor->skb, cursor->at, room, bytes) == 0 ? room : 0;
}

#endif

#define PEEK(type, name, cursor) \
    struct type name##_room;     \
    const struct type *name = peek(cursor, &name##_room, sizeof(name##_room))

struct packet {
    u64 addresses;
    u64 rest;
    u64 address[4]; /* IPv6 */
    u32 is_v6;
    u32 frame_bytes;
    u32 ip_bytes;
    u32 payload_bytes;
    u32 end;     /* TCP: sequence number beyond the payload */
    u32 is_tcp;
    u32 tcp_flags;
};

/* Ethernet's type field and the headers behind it. */
struct type {
    u16 value;
};
struct tag {
    u16 control;
    u16 next;
};
struct ipv4 {
    u8 version_and_length;
    u8 service;
    u16 total_bytes;
    u16 id;
    u16 fragment;
    u8 ttl;
    u8 protocol;
    u16 checksum;
    u32 source;
    u32 destination;
};
struct ipv6 {
    u8 version;
    u8 class[3];
    u16 payload_bytes;
    u8 next;
    u8 hops;
    u64 address[4];
};
struct extension {
    u8 next;
    u8 length;
    u8 option;        /* of options the first one's type, of a routing header its type */
    u8 segments_left; /* of a routing header */
    u8 more[4];
};
struct ports {
    u32 both;
    u16 udp_bytes;
    u16 checksum;
};
struct tcp {
    u32 ports;
    u32 sequence;
    u32 acknowledgment;
    u8 offset;
    u8 flags;
    u16 window;
};

#define NETWORK16(value) ((u16)__builtin_bswap16(value))
#define NETWORK32(value) __builtin_bswap32(value)

enum { TCP = 6, UDP = 17, SCTP = 132, HOP_BY_HOP = 0, ROUTING = 43, DESTINATION = 60 };
enum { FIN_SYN_RST = 7, UDP_BYTES = 8, SCTP_BYTES = 12, JUMBO_OPTION = 0xc2 };

INLINE int is_tag(u16 type)
{
    return type == NETWORK16(0x8100) || type == NETWORK16(0x88a8);
}

/* Whether the engine would look for a tunnel behind these ports. */
INLINE int may_be_tunnel(u32 ports)
{
    u16 source = ports, destination = ports >> 16;
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (tunnel_destinations[i] && destination == tunnel_destinations[i])
            return 1;
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (tunnel_ports[i] && (source == tunnel_ports[i] || destination == tunnel_ports[i]))
            return 1;
    return 0;
}

/* The transport header; `room` bytes of the IP packet are left for it and the payload. */
INLINE int transport(struct cursor *cursor, u32 protocol, u32 room, u64 vlan, struct packet *packet)
{
    u32 header_bytes, bytes = room, ports;

    if (protocol == TCP) {
        PEEK(tcp, tcp, cursor);
        if (!tcp)
            return 0;
        header_bytes = (tcp->offset >> 4) * 4;
        if (header_bytes < 20)
            return 0;
        ports = tcp->ports;
        packet->is_tcp = 1;
        packet->tcp_flags = tcp->flags;
        packet->end = NETWORK32(tcp->sequence) + room - header_bytes;
    } else if (protocol == UDP) {
        PEEK(ports, udp, cursor);
        if (!udp || may_be_tunnel(udp->both))
            return 0;
        ports = udp->both;
        header_bytes = UDP_BYTES;
        bytes = NETWORK16(udp->udp_bytes);
    } else if (protocol == SCTP) {
        PEEK(ports, sctp, cursor);
        if (!sctp)
            return 0;
        ports = sctp->both;
        header_bytes = SCTP_BYTES;
    } else {
        return 0;
    }
    if (bytes > room || bytes < header_bytes)
        return 0;
    packet->payload_bytes = bytes - header_bytes;
    packet->rest = ports | vlan << 32 | (u64)protocol << 56;
    return 1;
}

/* An IP packet of `bytes`, at `at`, must be inside its frame. */
INLINE int fits(const struct cursor *cursor, u32 at, u32 bytes, struct packet *packet)
{
    if (likely(at + bytes <= packet->frame_bytes))
        return 1;
    packet->frame_bytes = whole(cursor, packet->frame_bytes);
    return at + bytes <= packet->frame_bytes;
}

/* IPv4 without options, at `at` of the frame. */
INLINE int ipv4(struct cursor *cursor, u32 at, u64 vlan, struct packet *packet)
{
    PEEK(ipv4, ip, cursor);
    if (!ip || ip->version_and_length != 0x45 || ip->fragment & NETWORK16(0x3fff))
        return 0;
    u32 bytes = NETWORK16(ip->total_bytes), protocol = ip->protocol;
    if (bytes < 20 || !fits(cursor, at, bytes, packet))
        return 0;
    packet->is_v6 = 0;
    packet->ip_bytes = bytes;
    packet->addresses = ip->source | (u64)ip->destination << 32;
    cursor->at += 20;
    return transport(cursor, protocol, bytes - 20, vlan, packet);
}

/* IPv6 and up to four extension headers. Fragments, authenticated and jumbo packets pass, hop-by-hop options that may
 * make a packet jumbo, and packets whose final destination a routing header names (RFC 8200 section 4.4). */
INLINE int ipv6(struct cursor *cursor, u32 at, u64 vlan, struct packet *packet)
{
    PEEK(ipv6, ip, cursor);
    if (!ip || ip->version >> 4 != 6)
        return 0;
    u32 bytes = NETWORK16(ip->payload_bytes), next = ip->next;
    if (bytes == 0 || !fits(cursor, at, bytes + 40, packet))
        return 0;
    packet->is_v6 = 1;
    packet->ip_bytes = bytes + 40;
#pragma unroll
    for (int i = 0; i < 4; i++)
        packet->address[i] = ip->address[i];
    cursor->at += 40;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (next != ROUTING && next != DESTINATION && (next != HOP_BY_HOP || i > 0))
            break;
        PEEK(extension, extension, cursor);
        if (!extension)
            return 0;
        u32 extension_bytes = (extension->length + 1) * 8;
        if (next == HOP_BY_HOP && (extension_bytes > 8 || extension->option == JUMBO_OPTION))
            return 0;
        if (next == ROUTING && extension->segments_left != 0)
            return 0;
        if (extension_bytes > bytes)
            return 0;
        next = extension->next;
        bytes -= extension_bytes;
        cursor->at += extension_bytes;
    }
    return transport(cursor, next, bytes, vlan, packet);
}

/* An Ethernet frame. `outer` is the id of a tag that the card removed, or NO_TAG. */
#define NO_TAG 0xfff
#define TAG_BYTES 4

INLINE int parse(struct cursor *cursor, u32 frame_bytes, u32 outer, struct packet *packet)
{
    u32 first = outer, second = NO_TAG, at = 14;

    packet->frame_bytes = frame_bytes;
    packet->end = packet->is_tcp = packet->tcp_flags = 0;
    cursor->at += 12;
    PEEK(type, named, cursor);
    if (!named)
        return 0;
    u16 type = named->value;
    cursor->at += 2;
    if (outer != NO_TAG)
        at += TAG_BYTES;
    if (is_tag(type)) {
        PEEK(tag, tag, cursor);
        if (!tag)
            return 0;
        if (outer == NO_TAG)
            first = NETWORK16(tag->control) & 0xfff;
        else
            second = NETWORK16(tag->control) & 0xfff;
        type = tag->next;
        cursor->at += TAG_BYTES;
        at += TAG_BYTES;
        if (is_tag(type) && outer == NO_TAG) {
            PEEK(tag, inner, cursor);
            if (!inner)
                return 0;
            second = NETWORK16(inner->control) & 0xfff;
            type = inner->next;
            cursor->at += TAG_BYTES;
            at += TAG_BYTES;
        }
    }
    if (key_vlan) {
        /* Id 0 names no VLAN: the tag only carries a priority. */
        if (second == 0)
            second = NO_TAG;
        if (first == 0) {
            first = second;
            second = NO_TAG;
        }
    }
    u64 vlan = key_vlan ? first << 12 | second : 0xffffff;
    if (type == NETWORK16(0x0800))
        return ipv4(cursor, at, vlan, packet);
    if (type == NETWORK16(0x86dd))
        return ipv6(cursor, at, vlan, packet);
    return 0;
}

#endif
