// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Splits one link over several: `entry` counts a frame and continues in a steering program, which redirects it to an output;
// unsteered frames end in `rest`. `egress` counts frames that leave through an output.

#include "kernel.h"

enum {
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	STEER = 0, // places in `jump`
	REST = 1,
	RECEIVED = 0, // places in `counts`
	UNSTEERED = 1,
	OUTPUTS_MAX = 64,
};

struct count {
	u64 packets;
	u64 bytes;
};

struct {
	NUMBER(type, BPF_MAP_TYPE_PROG_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, u32);
} jump SECTION(".maps");

struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct count);
} counts SECTION(".maps");

// By the output's interface index.
struct {
	NUMBER(type, BPF_MAP_TYPE_PERCPU_HASH);
	NUMBER(max_entries, OUTPUTS_MAX);
	TYPE(key, u32);
	TYPE(value, struct count);
} outputs SECTION(".maps");

INLINE void add(struct count *count, struct xdp_md *ctx)
{
	if (count) {
		count->packets++;
		count->bytes += bpf_xdp_get_buff_len(ctx);
	}
}

SECTION("xdp.frags") int split_entry(struct xdp_md *ctx)
{
	u32 place = RECEIVED;
	add(bpf_map_lookup_elem(&counts, &place), ctx);
	bpf_tail_call(ctx, &jump, STEER);
	return XDP_ABORTED;
}

SECTION("xdp.frags") int split_rest(struct xdp_md *ctx)
{
	u32 place = UNSTEERED;
	add(bpf_map_lookup_elem(&counts, &place), ctx);
	return XDP_DROP;
}

SECTION("xdp.frags/devmap") int split_egress(struct xdp_md *ctx)
{
	u32 interface = ctx->egress_ifindex;
	add(bpf_map_lookup_elem(&outputs, &interface), ctx);
	return XDP_PASS;
}

char license_text[] SECTION("license") = "Dual MIT/GPL";
