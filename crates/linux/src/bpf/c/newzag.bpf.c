// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * TCP NewZag as a congestion controller of the Linux kernel: hooks around newzag.h, the twin of
 * crates/tcp/src/congestion/newzag/mod.rs. Growth and undo are the kernel's own Reno.
 */
#include "kernel.h"
#include "newzag.h"

/* The kernel loads nothing that is not compatible with the GPL, and takes this for it. */
char _license[] SEC("license") = "Dual MIT/GPL";

const volatile struct newzag_settings settings SEC(".rodata.settings") = { .shift = 4, .tick_us = 1000 };

/* Of all connections. */
u64 counters[NEWZAG_COUNTERS] SEC(".bss.counters");

_Static_assert(sizeof(struct newzag) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "icsk_ca_priv");

SEC("struct_ops/newzag_init")
void newzag_init(unsigned long long *ctx)
{
	struct newzag *nz = inet_csk_ca(HOOK_SOCK(ctx));

	__builtin_memset(nz, 0, sizeof(*nz));
}

/* NZG-5, NZG-U1, NZG-U4 */
SEC("struct_ops/newzag_pkts_acked")
void newzag_pkts_acked(unsigned long long *ctx)
{
	struct sock *sk = HOOK_SOCK(ctx);
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct newzag *nz = inet_csk_ca(sk);

	if (sample->rtt_us <= 0)
		return;
	newzag_sample(&nz->rtt, &settings,
		      newzag_rtt_on_clock(tcp_sk(sk)->tcp_mstamp, (u32)sample->rtt_us, settings.tick_us));
}

SEC("struct_ops/newzag_ssthresh")
u32 newzag_ssthresh_hook(unsigned long long *ctx)
{
	struct sock *sk = HOOK_SOCK(ctx);
	struct tcp_sock *tp = tcp_sk(sk);

	return newzag_ssthresh(inet_csk_ca(sk), &settings, tp->snd_cwnd, tp->lost_out);
}

/* NZG-8: the threshold was asked for because of a timeout. */
SEC("struct_ops/newzag_cwnd_event")
void newzag_cwnd_event(unsigned long long *ctx)
{
	struct tcp_sock *tp = tcp_sk(HOOK_SOCK(ctx));

	if ((u32)ctx[1] == CA_EVENT_LOSS && !settings.judges_timeouts)
		tp->snd_ssthresh = newzag_window(tp->prior_cwnd, 0);
}

SEC("struct_ops/newzag_set_state")
void newzag_set_state_hook(unsigned long long *ctx)
{
	struct sock *sk = HOOK_SOCK(ctx);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 new_state = (u8)ctx[1];

	/* The stack leaves one beside what it counts in flight, which may be needless retransmissions. */
	if (new_state == NEWZAG_TCP_CA_LOSS && settings.timeout_leaves_two && tp->snd_cwnd < tp->snd_cwnd_clamp)
		tp->snd_cwnd++;
	newzag_set_state(inet_csk_ca(sk), new_state, counters);
}

SEC("struct_ops/newzag_cong_avoid")
void newzag_cong_avoid(unsigned long long *ctx)
{
	tcp_reno_cong_avoid(HOOK_SOCK(ctx), (u32)ctx[1], (u32)ctx[2]);
}

SEC("struct_ops/newzag_undo_cwnd")
u32 newzag_undo_cwnd(unsigned long long *ctx)
{
	return tcp_reno_undo_cwnd(HOOK_SOCK(ctx));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops newzag = {
	.name = "newzag",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)newzag_init,
	.ssthresh = (void *)newzag_ssthresh_hook,
	.cong_avoid = (void *)newzag_cong_avoid,
	.set_state = (void *)newzag_set_state_hook,
	.cwnd_event = (void *)newzag_cwnd_event,
	.pkts_acked = (void *)newzag_pkts_acked,
	.undo_cwnd = (void *)newzag_undo_cwnd,
};
