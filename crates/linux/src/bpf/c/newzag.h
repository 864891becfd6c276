/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * TCP NewZag's estimate of the round trip and the rules that tell random loss from congestion by it (Lien, Reeve & Lee;
 * SPEC section 5).
 *
 * The twin of crates/tcp/src/congestion/newzag: same names, same integers, same order. Right shifts of negative numbers
 * are arithmetic, as with gcc, clang and BPF.
 */
#ifndef AIRTCP_NEWZAG_H
#define AIRTCP_NEWZAG_H

#include "types.h"

/* enum tcp_ca_state of the kernel */
#define NEWZAG_TCP_CA_RECOVERY 3
#define NEWZAG_TCP_CA_LOSS 4

/* Parameters, as the loader writes them. */
struct newzag_settings {
	u32 original;		/* 1: NZG-3, 0: NZG-4 */
	u32 shift;		/* -Y, 2 to 8 */
	u32 from_old_mean;	/* NZG-U2 */
	u32 tick_us;		/* NZG-10, at least 1 */
	u32 timeout_leaves_two;	/* NZG-X4 */
	u32 judges_timeouts;	/* NZG-U6 */
	u32 max_backlog;	/* segments; 0: none */
};

/* Fraction bits of mean and deviation: as many as the smallest weight needs. */
#define NEWZAG_SHIFT 8

/* Round trips seen so far, microseconds << NEWZAG_SHIFT; all zero before the first. */
struct newzag_rtt {
	s64 mean;
	s64 dev;
	s64 last;
	s64 min;
	u32 known;
	u32 unused;
};

/* State of one connection. */
struct newzag {
	struct newzag_rtt rtt;
	/* What ssthresh decided, until set_state tells what for. */
	u32 pending;
	u32 n;
	u32 is_random;
	u32 is_below_mean;
};

/* Decisions so far, in the order of the Rust twin's get_info. */
enum {
	NEWZAG_LOSS_EVENTS,
	NEWZAG_N_1,
	NEWZAG_N_2,
	NEWZAG_N_3,
	NEWZAG_N_MORE,
	NEWZAG_RANDOM,
	NEWZAG_BELOW_MEAN,
	NEWZAG_TIMEOUTS,
	NEWZAG_OTHER_REDUCTIONS,
	NEWZAG_COUNTERS,
};

/* NZG-10 */
static inline u64 newzag_rtt_on_clock(u64 now_us, u32 rtt_us, u64 tick_us)
{
	u64 sent_us = now_us > rtt_us ? now_us - rtt_us : 0;

	return (now_us / tick_us - sent_us / tick_us) * tick_us;
}

/* NZG-2, NZG-U3 */
static inline void newzag_sample(struct newzag_rtt *rtt, const volatile struct newzag_settings *settings, u64 sample_us)
{
	s64 sample = (s64)(sample_us << NEWZAG_SHIFT);
	s64 old_mean, far;
	u32 shift = settings->shift;

	rtt->last = sample;
	if (!rtt->known) {
		rtt->mean = sample;
		rtt->dev = sample >> 1;
		rtt->min = sample;
		rtt->known = 1;
		return;
	}
	if (sample < rtt->min)
		rtt->min = sample;
	old_mean = rtt->mean;
	rtt->mean += (sample - rtt->mean) >> shift;
	far = sample - (settings->from_old_mean ? old_mean : rtt->mean);
	if (far < 0)
		far = -far;
	rtt->dev += (far - rtt->dev) >> (shift - 1);
}

/* NZG-3, NZG-4: n segments were lost, at least one. */
static inline u32 newzag_is_random(const struct newzag_rtt *rtt, u32 original, u32 n)
{
	s64 bound;

	if (original && n == 1)
		bound = rtt->mean - rtt->dev;
	else if (original && n == 2)
		bound = rtt->mean - (rtt->dev >> 1);
	else if (n <= 3)
		bound = rtt->mean;
	else
		bound = rtt->mean + (rtt->dev >> 1);
	return rtt->known && rtt->last < bound;
}

#define NEWZAG_MAX_WINDOW (1u << 30)

/* Fewer than max segments of a window of cwnd wait in queues. */
static inline u32 newzag_queue_is_short(const struct newzag_rtt *rtt, u32 cwnd, u32 max)
{
	u64 last = (u64)(rtt->last >> NEWZAG_SHIFT);
	u64 waiting = (u64)((rtt->last - rtt->min) >> NEWZAG_SHIFT);

	if (cwnd > NEWZAG_MAX_WINDOW)
		cwnd = NEWZAG_MAX_WINDOW;
	if (max > NEWZAG_MAX_WINDOW)
		max = NEWZAG_MAX_WINDOW;
	return !max || cwnd * waiting < max * last;
}

/* NZG-6, NZG-U12 */
static inline u32 newzag_window(u32 cwnd, u32 is_random)
{
	u32 kept = is_random ? (u32)((u64)cwnd * 4 / 5) : cwnd >> 1;

	return kept > 2 ? kept : 2;
}

/* NZG-6, NZG-7, NZG-U7 */
static inline u32 newzag_ssthresh(struct newzag *nz, const volatile struct newzag_settings *settings, u32 cwnd,
				  u32 lost_out)
{
	nz->pending = 1;
	nz->n = lost_out;
	nz->is_random = lost_out && newzag_is_random(&nz->rtt, settings->original, lost_out) &&
			newzag_queue_is_short(&nz->rtt, cwnd, settings->max_backlog);
	nz->is_below_mean = nz->rtt.known && nz->rtt.last < nz->rtt.mean;
	return newzag_window(cwnd, nz->is_random);
}

static inline void newzag_count(u64 *counters, u32 counter, u64 amount)
{
	__sync_fetch_and_add(&counters[counter], amount);
}

/* Counts what was decided, by the situation it was decided in (NZG-7). */
static inline void newzag_set_state(struct newzag *nz, u32 new_state, u64 *counters)
{
	if (!nz->pending)
		return;
	nz->pending = 0;
	if (new_state == NEWZAG_TCP_CA_RECOVERY && nz->n) {
		newzag_count(counters, NEWZAG_LOSS_EVENTS, 1);
		newzag_count(counters, NEWZAG_N_1, nz->n == 1);
		newzag_count(counters, NEWZAG_N_2, nz->n == 2);
		newzag_count(counters, NEWZAG_N_3, nz->n == 3);
		newzag_count(counters, NEWZAG_N_MORE, nz->n > 3);
		newzag_count(counters, NEWZAG_RANDOM, nz->is_random);
		newzag_count(counters, NEWZAG_BELOW_MEAN, nz->is_below_mean);
	} else if (new_state == NEWZAG_TCP_CA_LOSS) {
		newzag_count(counters, NEWZAG_TIMEOUTS, 1);
	} else {
		newzag_count(counters, NEWZAG_OTHER_REDUCTIONS, 1);
	}
}

#endif
