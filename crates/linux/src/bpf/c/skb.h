/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a program at a link needs of the kernel: names and numbers of linux/bpf.h, which never change, so that no kernel
 * headers are needed to build.
 */
#ifndef AIRTCP_SKB_H
#define AIRTCP_SKB_H

#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))

/* A packet, as far as it is used here; the kernel translates each access. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;		/* of what follows the MAC header, big endian */
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto;
	u32 priority;
	u32 ingress_ifindex;	/* where it came in; 0 if it was made on this machine */
	u32 ifindex;		/* where it is */
};

/* What a program says of a packet: go on as if it were not there, or drop. */
#define TC_NEXT (-1)
#define TC_DROP 2

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_LPM_TRIE 11
#define BPF_F_NO_PREALLOC 1
#define BPF_ANY 0
#define BPF_HDR_START_NET 1
#define BPF_F_INGRESS 1

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_skb_store_bytes)(struct __sk_buff *skb, u32 at, const void *from, u32 len, u64 flags) = (void *)9;
static long (*const bpf_redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const bpf_skb_load_bytes)(const void *skb, u32 at, void *to, u32 len) = (void *)26;
static long (*const bpf_skb_change_head)(struct __sk_buff *skb, u32 len, u64 flags) = (void *)43;
/* Linux 5.10; only programs that know of trunks' segments call it. */
static long (*const bpf_redirect_neigh)(u32 ifindex, void *next_hop, int len, u64 flags) = (void *)152;
static long (*const bpf_skb_load_bytes_relative)(const void *skb, u32 at, void *to, u32 len, u32 from) = (void *)68;

/* Fields of a map's description, as the loader reads them. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

static __always_inline u16 big_endian(u16 number)
{
	return __builtin_bswap16(number);
}

#endif
