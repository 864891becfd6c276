/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What our congestion controllers need of the kernel: fields by name, which the loader relocates to where the running
 * kernel has them (CO-RE), so that neither kernel headers nor a dump of its types are needed to build.
 */
#ifndef AIRTCP_KERNEL_H
#define AIRTCP_KERNEL_H

#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	u32 sk_priority;	/* a member, or it would be no complete type */
};

struct inet_connection_sock {
	u64 icsk_ca_priv[13];	/* a controller's own state, ICSK_CA_PRIV_SIZE bytes */
};

struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 lost_out;
	u64 tcp_mstamp;		/* of the event being handled, microseconds */
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;		/* negative if unknown */
	u32 in_flight;
};

#pragma clang attribute pop

/* Members are matched by name. The loader writes the name at the beginning. */
struct tcp_congestion_ops {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
};

/* Anybody may choose it, also in another network namespace. */
#define TCP_CONG_NON_RESTRICTED 1
/* enum tcp_ca_event */
#define CA_EVENT_LOSS 3

/* Reno as the kernel has it. */
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline void *inet_csk_ca(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* Arguments of a hook come as an array of 64-bit words. */
#define HOOK_SOCK(ctx) ((struct sock *)(ctx)[0])

#endif
