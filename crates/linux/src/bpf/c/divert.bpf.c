// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Takes packets off a link for a gateway in user space, and puts back what the gateway gives back.
 *
 *   forwarded packets ─► routing, filter, NAT ─► [leaving] ─► the link ─► [arriving] ─► NAT, filter, routing ─►
 *                                                 │     ▲                  │     ▲
 *                                                 ▼     │                  ▼     │
 *                                              the device "out"         the device "in"      (TUN; two for each peer)
 *                                                 ▲     ▼                  ▲     ▼
 *                                                        the gateway
 *
 * A packet is taken behind everything that the router does with it on its way out, and before everything on its way
 * in. It goes on where it was taken. So no filter, NAT or route sees a difference, and it costs no hop.
 *
 * Peers are the other gateways. A packet is looked up once: whose it is decides in which devices it is given to the
 * gateway. So the peers' packets never wait behind each other's there.
 *
 * Four programs: airtcp_leaving and airtcp_arriving on the link, airtcp_back_out and airtcp_back_in on what the gateway
 * writes into the two devices. Whatever the first two do not take goes on as if they were not there.
 */
#include "skb.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* On a packet that the gateway gave back, until it passes the link's program again. */
#define GIVEN_BACK 0x41544350

enum { OUT, IN };

#define PEERS_MAX 64		/* crates/linux/src/gateway/peers.rs */

/* Fixed while the program is loaded. */
struct settings {
	u32 link;		/* by index */
	u32 has_mac;		/* the link's packets begin with an Ethernet header */
	u32 control_port;	/* UDP port of the gateways' own messages */
	u32 peers;
	u32 by_network;		/* some peers are told by networks */
	u32 own_segments;	/* there are trunks whose header packets are TCP segments */
	u32 takes_own;		/* what this machine itself sends is taken, too: a station */
	struct {
		u32 out, in;	/* by index */
	} devices[PEERS_MAX];
};
const volatile struct settings settings SEC(".rodata.settings") = {};

/* Which packets are taken: none, TCP segments, all of IP, all of IP that is about to leave. */
enum wanted { NOTHING, TCP, ALL, LEAVING };

/* Written by the gateway ten times a second. */
struct state {
	u64 alive_until;	/* the dead man's switch, on the clock of bpf_ktime_get_ns(): later, nothing is taken */
	u32 most_wanted;	/* the most of `wanted` */
	u32 whole_link;		/* there is one peer, and all packets of the link are its */
	u8 wanted[PEERS_MAX];	/* enum wanted; NOTHING while the peer is out of reach, as the scheme cannot work */
	u8 address[8];		/* the link's own hardware address, six bytes */
};
volatile struct state state SEC(".bss.state") = {};

/* Whose packets go to and come from a hardware address: a peer's own, or that of the router before it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * PEERS_MAX);
	__type(key, u8[8]);	/* six bytes, then zeros */
	__type(value, u32);
} neighbours SEC(".maps");

/* Whose the networks behind the peers are. */
struct network {
	u32 length;		/* bits of what follows that count */
	u32 protocol;		/* as in __sk_buff */
	u8 address[16];
};
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct network);
	__type(value, u32);
} networks SEC(".maps");

/*
 * Segments between this machine and a peer that are the gateway's, and not for the machine's TCP: one of their ports is
 * `port`, the other one of `ports` that follow. By pair of addresses, whose `peer` is 0.
 */
struct own_segments {
	u32 peer;
	u16 port, ports;
};

/* Whose a device is, by its index. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * PEERS_MAX);
	__type(key, u32);
	__type(value, u32);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PEERS_MAX);
	__type(key, struct pair);
	__type(value, struct own_segments);
} own_segments SEC(".maps");

enum { TAKEN_OUT, TAKEN_IN, BACK_OUT, BACK_IN, HOMELESS, COUNTERS };
u64 counters[COUNTERS] SEC(".bss.counters") = {};

/*
 * The devices carry no Ethernet header. It is kept here for each pair of addresses, seen from this machine, and put on
 * again when a packet of the pair comes back. No peer's packets change where another's go.
 */
struct pair {
	u8 near[16], far[16];
	u32 peer;
};
struct header {
	u8 near[6], far[6];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct pair);
	__type(value, struct header);
} headers SEC(".maps");

/*
 * What the other gateway sent in a message of its own (a trunk's tunnel) was on the link without such a header. It is as if
 * it came from this address, which belongs to nobody (locally administered).
 */
static const u8 from_tunnel[6] = { 0x02, 'a', 'i', 'r', 't', 'c' };

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define ETH_HEADER 14
#define PACKET_HOST 0		/* addressed to this device */

#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ICMPV6 58
#define PROTO_SHIM 254		/* a packet with something of the other gateway's inside (crates/core/src/packet/shim.rs) */

#define ND_FIRST 133		/* ICMPv6 types of neighbour discovery */
#define ND_LAST 137

struct ipv4 {
	u8 version_and_length, tos, length[2], id[2], fragment[2], hops, protocol, checksum[2], source[4], target[4];
};
struct ipv6 {
	u8 version[4], length[2], protocol, hops, source[16], target[16];
};
struct ethernet {
	u8 target[6], source[6];
	u16 protocol;
};

/* What matters of an IP packet. */
struct packet {
	struct pair pair;
	u32 payload_at;
	u8 protocol;
	u8 is_fragment;
	u8 is_local;		/* multicast, broadcast or of the link itself: never forwarded */
};

static __always_inline void set_pair(struct packet *packet, const u8 *source, const u8 *target, u32 length, int way)
{
	__builtin_memcpy(way == OUT ? packet->pair.near : packet->pair.far, source, length);
	__builtin_memcpy(way == OUT ? packet->pair.far : packet->pair.near, target, length);
}

static __always_inline int read_ipv4(struct __sk_buff *skb, struct packet *packet, int way)
{
	struct ipv4 ip;

	if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
		return 0;
	set_pair(packet, ip.source, ip.target, 4, way);
	packet->payload_at = (ip.version_and_length & 15) * 4;
	packet->protocol = ip.protocol;
	packet->is_fragment = (ip.fragment[0] & 0x3f) | ip.fragment[1];
	packet->is_local = ip.target[0] >= 224 || (ip.target[0] == 169 && ip.target[1] == 254) ||
			   (ip.source[0] == 169 && ip.source[1] == 254);
	return ip.version_and_length >> 4 == 4;
}

static __always_inline int read_ipv6(struct __sk_buff *skb, struct packet *packet, int way)
{
	struct ipv6 ip;

	if (bpf_skb_load_bytes_relative(skb, 0, &ip, sizeof(ip), BPF_HDR_START_NET))
		return 0;
	set_pair(packet, ip.source, ip.target, 16, way);
	packet->payload_at = sizeof(ip);
	packet->protocol = ip.protocol;
	packet->is_local = ip.target[0] == 0xff || (ip.target[0] == 0xfe && ip.target[1] >> 6 == 2) ||
			   (ip.source[0] == 0xfe && ip.source[1] >> 6 == 2);
	return ip.version[0] >> 4 == 6;
}

static __always_inline int read_packet(struct __sk_buff *skb, struct packet *packet, int way)
{
	if (skb->vlan_present)
		return 0;
	if (skb->protocol == big_endian(ETH_IPV4))
		return read_ipv4(skb, packet, way);
	if (skb->protocol == big_endian(ETH_IPV6))
		return read_ipv6(skb, packet, way);
	return 0;
}

/* A look at the protocol, as most packets that are not taken need no more. */
static __always_inline int may_be_wanted(struct __sk_buff *skb, int way)
{
	u8 protocol = 0;

	if (state.most_wanted == ALL || (state.most_wanted == LEAVING && way == OUT))
		return 1;
	if (way == OUT && state.most_wanted == NOTHING)
		return 0;
	if (bpf_skb_load_bytes_relative(skb, skb->protocol == big_endian(ETH_IPV4) ? 9 : 6, &protocol, 1, BPF_HDR_START_NET))
		return 0;
	return protocol == PROTO_TCP || protocol == PROTO_SHIM;
}

/* The gateways' messages to each other, and what finds neighbours. */
static __always_inline int keeps_the_link_going(struct __sk_buff *skb, const struct packet *packet)
{
	u8 start[4] = {};

	if (packet->is_fragment || (packet->protocol != PROTO_UDP && packet->protocol != PROTO_ICMPV6))
		return 0;
	if (bpf_skb_load_bytes_relative(skb, packet->payload_at, start, sizeof(start), BPF_HDR_START_NET))
		return 0;
	if (packet->protocol == PROTO_UDP)
		return ((u32)start[2] << 8 | start[3]) == settings.control_port;
	return start[0] >= ND_FIRST && start[0] <= ND_LAST;
}

static __always_inline int is_wanted(struct __sk_buff *skb, const struct packet *packet, int way)
{
	u8 wanted;

	if (packet->pair.peer >= PEERS_MAX)
		return 0;
	wanted = state.wanted[packet->pair.peer];
	if (packet->is_local)
		return 0;
	/* Only the gateway can take out what the other one put in, also while it does not hear the other. */
	if (packet->protocol == PROTO_SHIM && way == IN)
		return 1;
	if (wanted == NOTHING)
		return 0;
	if (wanted == ALL || (wanted == LEAVING && way == OUT))
		return !keeps_the_link_going(skb, packet);
	return wanted == TCP && packet->protocol == PROTO_TCP && !packet->is_fragment;
}

/* True for a segment of a trunk between this machine and a peer, which it finds out. */
static __always_inline int is_own_segment(struct __sk_buff *skb, struct packet *packet)
{
	struct own_segments *own;
	u8 ports[4] = {};
	u16 source, target, other;

	if (!settings.own_segments || packet->protocol != PROTO_TCP || packet->is_fragment)
		return 0;
	own = bpf_map_lookup_elem(&own_segments, &packet->pair);
	if (!own || bpf_skb_load_bytes_relative(skb, packet->payload_at, ports, sizeof(ports), BPF_HDR_START_NET))
		return 0;
	source = ports[0] << 8 | ports[1];
	target = ports[2] << 8 | ports[3];
	other = source == own->port ? target : source;
	if ((source != own->port && target != own->port) || other <= own->port || other > own->port + own->ports)
		return 0;
	packet->pair.peer = own->peer;
	return 1;
}

static __always_inline int is_equal(const u8 *a, const u8 *b)
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3] && a[4] == b[4] && a[5] == b[5];
}

/* The peer that the packet's far end is behind; PEERS_MAX for nobody. */
static __always_inline u32 peer_by_network(struct __sk_buff *skb, const struct pair *pair)
{
	struct network network = { .length = 32 + 128, .protocol = skb->protocol };
	u32 *peer;

	__builtin_memcpy(network.address, pair->far, 16);
	peer = bpf_map_lookup_elem(&networks, &network);
	return peer ? *peer : PEERS_MAX;
}

/* The peer whose next hop has this hardware address; PEERS_MAX for nobody. */
static __always_inline u32 peer_by_address(const u8 *address)
{
	u8 key[8] = {};
	u32 *peer;

	__builtin_memcpy(key, address, 6);
	peer = bpf_map_lookup_elem(&neighbours, key);
	return peer ? *peer : PEERS_MAX;
}

/* For another host on the same device (macvlan). */
static __always_inline int is_for_another(struct __sk_buff *skb, int way)
{
	return settings.has_mac && way == IN && skb->pkt_type != PACKET_HOST;
}

/* Finds out whose the packet is; no if nobody's. */
static __always_inline int find_peer(struct __sk_buff *skb, struct pair *pair, const struct header *header, int way)
{
	u32 peer = PEERS_MAX;

	if (state.whole_link)
		return 1;
	if (is_for_another(skb, way))
		return 0;
	if (settings.by_network)
		peer = peer_by_network(skb, pair);
	if (peer >= PEERS_MAX && settings.has_mac)
		peer = peer_by_address(header->far);
	pair->peer = peer;
	return peer < PEERS_MAX;
}

/* Reads the packet's Ethernet header; no if it is for many. */
static __always_inline int read_header(struct __sk_buff *skb, struct header *header, int way)
{
	struct ethernet ethernet;

	if (bpf_skb_load_bytes(skb, 0, &ethernet, ETH_HEADER))
		return 0;
	__builtin_memcpy(header->near, way == OUT ? ethernet.source : ethernet.target, 6);
	__builtin_memcpy(header->far, way == OUT ? ethernet.target : ethernet.source, 6);
	return !(ethernet.target[0] & 1);
}

/* Keeps the packet's Ethernet header for those that come back. */
static __always_inline int keep_header(const struct pair *pair, const struct header *header)
{
	struct header *known = bpf_map_lookup_elem(&headers, pair);

	if (known && is_equal(known->near, header->near) && is_equal(known->far, header->far))
		return 1;
	return !bpf_map_update_elem(&headers, pair, header, BPF_ANY);
}

/* Takes the packet off the link, if it is one for the gateway and the gateway is alive. */
static __always_inline int take(struct __sk_buff *skb, int way)
{
	struct packet packet = {};
	struct header header = {};
	u32 peer;

	if (skb->mark == GIVEN_BACK) {
		skb->mark = 0;
		return TC_NEXT;
	}
	/* The router's own. */
	if (way == OUT && !skb->ingress_ifindex && !settings.takes_own)
		return TC_NEXT;
	if (!may_be_wanted(skb, way) || bpf_ktime_get_ns() >= state.alive_until)
		return TC_NEXT;
	if (!read_packet(skb, &packet, way))
		return TC_NEXT;
	if (settings.has_mac && !read_header(skb, &header, way))
		return TC_NEXT;
	if (way == IN && !is_for_another(skb, way) && is_own_segment(skb, &packet))
		goto taken;
	if (!find_peer(skb, &packet.pair, &header, way) || !is_wanted(skb, &packet, way))
		return TC_NEXT;
	if (settings.has_mac && !keep_header(&packet.pair, &header))
		return TC_NEXT;
taken:
	peer = packet.pair.peer;
	if (peer >= PEERS_MAX)
		return TC_NEXT;
	__sync_fetch_and_add(&counters[way == OUT ? TAKEN_OUT : TAKEN_IN], 1);
	return bpf_redirect(way == OUT ? settings.devices[peer].out : settings.devices[peer].in, 0);
}

static __always_inline void read_own_address(u8 *address)
{
	for (int i = 0; i < 6; i++)
		address[i] = state.address[i];
}

/* Puts a packet of the gateway's on the link, or behind it, where packets of its kind are taken. */
static __always_inline int give_back(struct __sk_buff *skb, int way)
{
	if (settings.has_mac) {
		struct ethernet ethernet;
		struct packet packet = {};
		struct header *header;

		if (!read_packet(skb, &packet, way))
			return TC_DROP;
		/* The kernel knows the way to the peer; it puts its header in the place of an empty one. */
		if (way == OUT && is_own_segment(skb, &packet)) {
			if (bpf_skb_change_head(skb, ETH_HEADER, 0))
				return TC_DROP;
			__sync_fetch_and_add(&counters[BACK_OUT], 1);
			skb->mark = GIVEN_BACK;
			return bpf_redirect_neigh(settings.link, 0, 0, 0);
		}
		if (settings.peers > 1) {
			u32 device = skb->ifindex, *owner = bpf_map_lookup_elem(&owners, &device);

			packet.pair.peer = owner ? *owner : PEERS_MAX;
		}
		header = bpf_map_lookup_elem(&headers, &packet.pair);
		if (header) {
			__builtin_memcpy(ethernet.target, way == OUT ? header->far : header->near, 6);
			__builtin_memcpy(ethernet.source, way == OUT ? header->near : header->far, 6);
		} else if (way == IN) {
			read_own_address(ethernet.target);
			__builtin_memcpy(ethernet.source, from_tunnel, 6);
		} else {
			__sync_fetch_and_add(&counters[HOMELESS], 1);
			return TC_DROP;
		}
		ethernet.protocol = skb->protocol;
		if (bpf_skb_change_head(skb, ETH_HEADER, 0) || bpf_skb_store_bytes(skb, 0, &ethernet, ETH_HEADER, 0))
			return TC_DROP;
	}
	__sync_fetch_and_add(&counters[way == OUT ? BACK_OUT : BACK_IN], 1);
	skb->mark = GIVEN_BACK;
	return bpf_redirect(settings.link, way == OUT ? 0 : BPF_F_INGRESS);
}

SEC("tc")
int airtcp_leaving(struct __sk_buff *skb)
{
	return take(skb, OUT);
}

SEC("tc")
int airtcp_arriving(struct __sk_buff *skb)
{
	return take(skb, IN);
}

SEC("tc")
int airtcp_back_out(struct __sk_buff *skb)
{
	return give_back(skb, OUT);
}

SEC("tc")
int airtcp_back_in(struct __sk_buff *skb)
{
	return give_back(skb, IN);
}
