//! Parameters of autorate: those of cake-autorate with its defaults, read in its defaults.sh of version 3.3.0-PRERELEASE,
//! commit 0703979.

use airtcp_core::{Duration, Probability, Rate, choices, parameters};
use airtcp_link::Queue;

choices! {
    /// What a ping tells of the way out.
    pub enum Delay {
        /// Half its round trip, which takes a queue on the way back for half of one here.
        RoundTrip = "round-trip",
        /// When it left and when it came to the other end.
        OneWay = "one-way",
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn percent(number: u64) -> Probability {
    Probability::ratio(number, 100)
}

parameters! {
    /// Parameters of autorate.
    pub struct AutorateSettings {
        /// Lowest rate of the shaper, in IP bits.
        pub min_rate: Rate = Rate::from_bps(5_000_000), "cake-autorate 3.3.0 defaults.sh: min_dl_shaper_rate_kbps, min_ul_shaper_rate_kbps";
        /// Rate at the beginning, and the one that the shaper returns to while there is little load.
        pub base_rate: Rate = Rate::from_bps(20_000_000), "cake-autorate 3.3.0 defaults.sh: base_dl_shaper_rate_kbps, base_ul_shaper_rate_kbps";
        /// Highest rate.
        pub max_rate: Rate = Rate::from_bps(80_000_000), "cake-autorate 3.3.0 defaults.sh: max_dl_shaper_rate_kbps (35 Mbit/s for uploads)";
        /// The shaper's queue, a limit or a discipline, as the queue of a link; FQ-CoDel if auto.
        pub queue: Option<Queue> = None, "tc-cake(8): a queue for each flow with CoDel, 5 ms and 100 ms";
        /// Time between two pings.
        pub ping_every: Duration = ms(50), "cake-autorate 3.3.0 defaults.sh: reflector_ping_interval_s=0.3 by no_pingers=6 in turn";
        /// What a ping tells of the way out.
        pub delay: Delay = Delay::RoundTrip, "cake-autorate 3.3.0 defaults.sh: pinger_method=fping; one-way as fping-ts, tsping and irtt";
        /// Delay beyond the baseline above which an answer is late.
        pub late: Duration = ms(30), "cake-autorate 3.3.0 defaults.sh: dl_owd_delta_delay_thr_ms";
        /// Mean delay up to which the rate climbs as fast as it may; from there to `late` ever slower.
        pub climb_up_to: Duration = ms(10), "cake-autorate 3.3.0 defaults.sh: dl_avg_owd_delta_max_adjust_up_thr_ms";
        /// Mean delay from which the rate falls as fast as it may; from `late` to there ever faster.
        pub fall_from: Duration = ms(60), "cake-autorate 3.3.0 defaults.sh: dl_avg_owd_delta_max_adjust_down_thr_ms";
        /// Answers among which late ones are counted.
        pub window: u8 = 6, "cake-autorate 3.3.0 defaults.sh: bufferbloat_detection_window";
        /// Late ones among them that are bufferbloat.
        pub late_answers: u8 = 3, "cake-autorate 3.3.0 defaults.sh: bufferbloat_detection_thr";
        /// Share of a higher delay that the baseline follows.
        pub baseline_up: Probability = Probability::ratio(1, 1000), "cake-autorate 3.3.0 defaults.sh: alpha_baseline_increase";
        /// Share of a lower delay that the baseline follows.
        pub baseline_down: Probability = percent(90), "cake-autorate 3.3.0 defaults.sh: alpha_baseline_decrease";
        /// Least step down at bufferbloat.
        pub least_fall: Probability = percent(1), "cake-autorate 3.3.0 defaults.sh: shaper_rate_min_adjust_down_bufferbloat=0.99";
        /// Longest step down at bufferbloat.
        pub most_fall: Probability = percent(25), "cake-autorate 3.3.0 defaults.sh: shaper_rate_max_adjust_down_bufferbloat=0.75";
        /// Least step up under high load.
        pub least_climb: Probability = Probability::NEVER, "cake-autorate 3.3.0 defaults.sh: shaper_rate_min_adjust_up_load_high=1.0";
        /// Longest step up under high load.
        pub most_climb: Probability = percent(4), "cake-autorate 3.3.0 defaults.sh: shaper_rate_max_adjust_up_load_high=1.04";
        /// Step towards the base rate under low load.
        pub decay: Probability = percent(1), "cake-autorate 3.3.0 defaults.sh: shaper_rate_adjust_down_load_low=0.99, shaper_rate_adjust_up_load_low=1.01";
        /// Share of its rate that the shaper sends under high load.
        pub high_load: Probability = percent(75), "cake-autorate 3.3.0 defaults.sh: high_load_thr";
        /// Time over which the load is measured; twenty packet times if that is longer.
        pub load_every: Duration = ms(200), "cake-autorate 3.3.0 defaults.sh: monitor_achieved_rates_interval_ms";
        /// Time after a step down in which there is no other, nor one up.
        pub pause_after_fall: Duration = ms(300), "cake-autorate 3.3.0 defaults.sh: bufferbloat_refractory_period_ms";
        /// Time between two steps towards the base rate.
        pub pause_after_decay: Duration = ms(1000), "cake-autorate 3.3.0 defaults.sh: decay_refractory_period_ms";
    }
}
