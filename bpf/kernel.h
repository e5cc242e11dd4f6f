/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The parts of the kernel's interface that these programs use: helpers, contexts, map kinds (include/uapi/linux/bpf.h). */
#ifndef TIDEWIRE_KERNEL_H
#define TIDEWIRE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* How a map is described in BTF. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, value) value *name

enum {
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PROG_ARRAY = 3,
    BPF_MAP_TYPE_XSKMAP = 17,
    BPF_F_MMAPABLE = 1 << 10,
};

enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct xdp_md {
    u32 data;
    u32 data_end;
    u32 data_meta;
    u32 ingress_ifindex;
    u32 rx_queue_index;
    u32 egress_ifindex;
};

/* Only the beginning, which is all that is used. */
struct __sk_buff {
    u32 len;
    u32 pkt_type;
    u32 mark;
    u32 queue_mapping;
    u32 protocol;
    u32 vlan_present;
    u32 vlan_tci;
    u32 vlan_proto;
};

/* Helpers are called by their number. Those that the kernel inlines into the program (lookups in arrays,
 * the processor's number, jiffies) cost almost nothing; the others 10 ns or more each where returns are guarded
 * against speculation. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_tail_call)(void *context, void *map, u32 index) = (void *)12;
static long (*const bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 bytes) = (void *)26;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)160;
static u64 (*const bpf_xdp_get_buff_len)(struct xdp_md *xdp) = (void *)188;

#endif
