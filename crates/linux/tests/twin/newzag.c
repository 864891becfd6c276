/* Runs newzag.h in user space: settings and steps come in on stdin, thresholds and counters go out on stdout. */
#include "../../src/bpf/c/newzag.h"
#include <stdio.h>

enum { SAMPLE, SSTHRESH, TIMEOUT, SET_STATE };

struct step {
	u32 kind;
	u32 small;
	u64 large;
};

static int put(u32 value)
{
	return fwrite(&value, sizeof(value), 1, stdout) == 1;
}

int main(void)
{
	struct newzag_settings settings;
	struct newzag nz = { 0 };
	u64 counters[NEWZAG_COUNTERS] = { 0 };
	struct step step;

	if (fread(&settings, sizeof(settings), 1, stdin) != 1)
		return 1;
	while (fread(&step, sizeof(step), 1, stdin) == 1) {
		switch (step.kind) {
		case SAMPLE:
			newzag_sample(&nz.rtt, &settings,
				      newzag_rtt_on_clock(step.large, step.small, settings.tick_us));
			break;
		case SSTHRESH:
			if (!put(newzag_ssthresh(&nz, &settings, step.small, (u32)step.large)))
				return 1;
			break;
		case TIMEOUT:
			if (!put(newzag_window(step.small, 0)))
				return 1;
			break;
		case SET_STATE:
			newzag_set_state(&nz, step.small, counters);
			break;
		default:
			return 1;
		}
	}
	return fwrite(counters, sizeof(counters), 1, stdout) != 1;
}
