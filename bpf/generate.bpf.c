// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Traffic generated in the kernel. The programs here are never attached: BPF_PROG_TEST_RUN with
// BPF_F_TEST_XDP_LIVE_FRAMES calls them once for each frame of the kernel's pool; they write a packet into it and
// redirect it to an interface. Frames come back with the bytes that they left with, so every byte that may have changed is
// rewritten.
//
//   flows   makes up UDP datagrams or TCP SYNs: flow, size, number and checksums
//   frames  sends what user space has put into `slots`
//   sink    counts and drops: the other end of the cable
//
// The layout of `struct control` and `struct slot` is known to crates/tidewire-gen/src/send/layout.rs.

#include "kernel.h"

#define BE16(x) __builtin_bswap16(x)
#define BE32(x) __builtin_bswap32(x)

enum { BPF_MAP_TYPE_PERCPU_ARRAY = 6 };

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;
static long (*const bpf_xdp_store_bytes)(struct xdp_md *ctx, u32 at, const void *from, u32 bytes) = (void *)190;

// Fractions of a nanosecond in which time is counted: 2^-16.
#define TIME_SHIFT 16
// Frames that user space can put down at once, and the most bytes of one: what a page of the pool has room for.
#define SLOTS 1024
#define SLOT_FRAME_BYTES 3328
// Bytes on the cable that a frame has besides those in memory: FCS, preamble, gap.
#define CABLE_BYTES 24
// The trailer that numbers a frame: a check byte and 40 bits, behind the IP packet. A SYN of 64 bytes has room for it.
#define TRAILER_BYTES 6
#define TRAILER_CHECK 0x74
// With several sizes frames end in bytes that are never sent; the last two of them say where the trailer before was.
#define PRIVATE_BYTES 16
#define SIZES 16
#define CLASSES 8
// Places among which sizes and classes are shared out.
#define PLACES 128
#define HEADER_BYTES 56

// Bits of control.flags.
#define RANDOM 1   // flows in random order, else in turn
#define BOTH 2     // the flows' other directions as well
#define SYNS 4     // TCP SYNs, else UDP datagrams
#define STRANGERS 8 // every packet from another address, all over the Internet
#define MIXED 16   // several sizes, PRIVATE_BYTES behind the longest
#define NUMBERED 32 // trailers
#define TIMED 64   // slots say when they are due
#define PACED 128  // frames wait until they are due

struct size {
	u32 bytes;  // of the frame, trailer included, FCS not
	u32 ip_sum; // sums of what is the same in all packets of this size
	u32 l4_sum;
	u16 ip_bytes; // as they stand in the headers
	u16 l4_bytes;
};

struct class {
	u16 port; // destination's, as it stands in the header
	u8 tos;
	u8 unused;
};

struct control {
	// What changes.
	u64 position; // number of the next frame
	u64 due;      // when it is due, since `start_ns`
	u64 bytes;    // sent so far, on the cable
	u64 idle;     // calls before a frame was due
	u64 late;     // times that what was missed was given up
	u64 failed;   // frames that could not be made
	u64 turn;     // next flow, and in its lowest bit the direction
	u64 sent[2];  // by interface
	// What is set before.
	u64 end;        // number of the first frame that is not sent
	u64 start_ns;   // 0: now
	u64 per_packet; // time a packet takes, and a byte on the cable
	u64 per_byte;
	u64 burst;      // time that may be made up for
	u64 seed;
	u64 flows;
	u32 flags;
	u32 full_bytes; // of a frame as it comes from the pool
	u32 ifindex[2];
	u32 client;     // first addresses, in the host's order
	u32 server;
	struct size sizes[SIZES];
	struct class classes[CLASSES];
	u8 size_places[PLACES];
	u8 class_places[PLACES];
	u8 header[HEADER_BYTES];
	u64 pattern[8]; // payload from offsets 0, 1, .. 7 modulo 8
};

struct slot {
	u64 due;
	u32 bytes;
	u32 port;
	u8 frame[SLOT_FRAME_BYTES];
};

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(map_flags, BPF_F_MMAPABLE);
	NUMBER(max_entries, 1);
	u32 *key;
	struct control *value;
} control SECTION(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_ARRAY);
	NUMBER(map_flags, BPF_F_MMAPABLE);
	NUMBER(max_entries, SLOTS);
	u32 *key;
	struct slot *value;
} slots SECTION(".maps");

struct sunk {
	u64 packets;
	u64 bytes;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	u32 *key;
	struct sunk *value;
} sunk SECTION(".maps");

// Scatters a number over 64 bits: the finaliser of SplitMix64.
INLINE u64 mix(u64 n)
{
	n += 0x9e3779b97f4a7c15ULL;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9ULL;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebULL;
	return n ^ (n >> 31);
}

INLINE u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(u16)sum;
}

// The six bytes before offset `end`; 0 where they are not all of the packet. The barrier keeps the offset in one piece, as
// the verifier wants it.
INLINE u8 *six_before(u8 *data, u8 *data_end, u32 end)
{
	u32 at = end - 6;
	asm volatile("" : "+r"(at));
	u8 *six = data + (at & 0xfff);
	return six + 6 <= data_end ? six : 0;
}

INLINE u32 words(u32 address)
{
	return (address >> 16) + (address & 0xffff);
}

// Whether the next frame must wait. A sender that was held up makes up for `burst` and no more.
INLINE int early(struct control *c)
{
	if (!(c->flags & PACED))
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (!c->start_ns)
		c->start_ns = now;
	now = (now - c->start_ns) << TIME_SHIFT;
	if (now < c->due) {
		c->idle++;
		return 1;
	}
	if (now - c->due > c->burst) {
		c->due = now - c->burst;
		c->late++;
	}
	return 0;
}

INLINE int leave(struct control *c, u32 bytes, u32 port)
{
	port &= 1;
	c->position++;
	c->bytes += bytes + CABLE_BYTES;
	c->due += c->per_packet + c->per_byte * (bytes + CABLE_BYTES);
	c->sent[port]++;
	return bpf_redirect(c->ifindex[port], 0);
}

struct picked {
	u32 saddr, daddr;
	u16 sport, dport; // as they stand in the header
	u8 tos;
	u8 port;
};

// The packet's flow: addresses and ports.
INLINE void pick(struct control *c, u64 random, struct picked *p)
{
	u64 flow;
	u32 back = 0;
	if (c->flags & RANDOM) {
		flow = ((random & 0xffffffff) * c->flows) >> 32;
		back = random >> 63;
	} else {
		u64 turn = c->turn;
		flow = turn >> 1;
		back = turn & 1;
		// All flows in one direction, then all in the other.
		c->turn = flow + 1 < c->flows ? turn + 2 : (back ^ 1);
	}
	struct class *class = &c->classes[c->class_places[flow & (PLACES - 1)] & (CLASSES - 1)];
	u32 client = c->client + (u32)flow, server = c->server + (flow & 0xff);
	u16 port = BE16(1024 + ((flow * 40503) & 0x7fff));
	if (c->flags & STRANGERS) {
		client = random >> 8;
		u32 net = client >> 24;
		if (net == 0 || net == 10 || net == 127 || net >= 224)
			client = (client & 0x00ffffff) | 0x2d000000;
		port = BE16(1024 + ((random >> 40) & 0x7fff));
	}
	p->tos = class->tos;
	if ((c->flags & BOTH) && back) {
		p->saddr = server, p->daddr = client, p->sport = class->port, p->dport = port, p->port = 1;
	} else {
		p->saddr = client, p->daddr = server, p->sport = port, p->dport = class->port, p->port = 0;
	}
}

SECTION("xdp") int flows(struct xdp_md *ctx)
{
	u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (!c || c->position >= c->end || early(c))
		return XDP_DROP;
	u8 *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	u64 number = c->position, random = mix(number + c->seed);
	struct picked p;
	pick(c, random, &p);
	struct size *size = &c->sizes[c->size_places[(random >> 32) & (PLACES - 1)] & (SIZES - 1)];
	u32 bytes = size->bytes;
	if (data + HEADER_BYTES > data_end)
		goto failed;
	__builtin_memcpy(data, c->header, HEADER_BYTES);
	u32 both_sum = words(p.saddr) + words(p.daddr);
	data[15] = p.tos;
	*(u16 *)(data + 16) = size->ip_bytes;
	*(u16 *)(data + 18) = BE16((u16)number);
	*(u16 *)(data + 24) = BE16(fold((u64)size->ip_sum + p.tos + (u16)number + both_sum));
	*(u32 *)(data + 26) = BE32(p.saddr);
	*(u32 *)(data + 30) = BE32(p.daddr);
	*(u16 *)(data + 34) = p.sport;
	*(u16 *)(data + 36) = p.dport;
	u64 sum = (u64)size->l4_sum + both_sum + BE16(p.sport) + BE16(p.dport);
	if (c->flags & SYNS) {
		u32 seq = random >> 16;
		*(u32 *)(data + 38) = BE32(seq);
		*(u16 *)(data + 50) = BE16(fold(sum + words(seq)));
	} else {
		u16 checksum = fold(sum);
		*(u16 *)(data + 38) = size->l4_bytes;
		*(u16 *)(data + 40) = checksum ? BE16(checksum) : 0xffff;
		*(u64 *)(data + 42) = c->pattern[2];
		*(u32 *)(data + 50) = (u32)c->pattern[2];
		*(u16 *)(data + 54) = (u16)c->pattern[6];
	}
	u8 *six;
	if (c->flags & MIXED) {
		// Where the trailer of this frame's last use was, the payload is restored.
		u8 *last = six_before(data, data_end, c->full_bytes);
		if (!last)
			goto failed;
		u32 was = *(u16 *)(last + 4);
		if (was >= HEADER_BYTES) {
			six = six_before(data, data_end, was);
			if (!six)
				goto failed;
			*(u32 *)six = (u32)c->pattern[(was + 2) & 7];
			*(u16 *)(six + 4) = (u16)c->pattern[(was + 6) & 7];
		}
		*(u16 *)(last + 4) = bytes;
	}
	if (c->flags & NUMBERED) {
		u32 low = number, high = (number >> 32) & 0xff;
		u32 check = low ^ (low >> 16);
		check = (check ^ (check >> 8) ^ high ^ TRAILER_CHECK) & 0xff;
		six = six_before(data, data_end, bytes);
		if (!six)
			goto failed;
		*(u16 *)six = BE16(check << 8 | high);
		*(u32 *)(six + 2) = BE32(low);
	}
	if (bytes != c->full_bytes && bpf_xdp_adjust_tail(ctx, (int)bytes - (int)c->full_bytes))
		goto failed;
	return leave(c, bytes, p.port);
failed:
	c->position++;
	c->failed++;
	return XDP_DROP;
}

SECTION("xdp") int frames(struct xdp_md *ctx)
{
	u32 zero = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	if (!c || c->position >= c->end)
		return XDP_DROP;
	u32 index = c->position & (SLOTS - 1);
	struct slot *slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot)
		return XDP_DROP;
	if (c->flags & TIMED)
		c->due = slot->due;
	if (early(c))
		return XDP_DROP;
	u32 bytes = slot->bytes;
	if (bytes < 14 || bytes > SLOT_FRAME_BYTES)
		goto failed;
	if (bytes != c->full_bytes && bpf_xdp_adjust_tail(ctx, (int)bytes - (int)c->full_bytes))
		goto failed;
	if (bpf_xdp_store_bytes(ctx, 0, slot->frame, bytes))
		goto failed;
	return leave(c, bytes, slot->port);
failed:
	c->position++;
	c->failed++;
	return XDP_DROP;
}

SECTION("xdp") int sink(struct xdp_md *ctx)
{
	u32 zero = 0;
	struct sunk *s = bpf_map_lookup_elem(&sunk, &zero);
	if (s) {
		s->packets++;
		s->bytes += ctx->data_end - ctx->data;
	}
	return XDP_DROP;
}

char license_text[] SECTION("license") = "Dual MIT/GPL";
