//! Rules that routers have. Router a: `wire` and `guest` inside, `air` is the link.

/// A set of rules: its name, what nft loads, commands that set and unset what is not nft's.
pub struct Rules {
    pub name: &'static str,
    pub nft: &'static str,
    pub set: &'static [&'static str],
    pub unset: &'static [&'static str],
}

const fn nft(name: &'static str, nft: &'static str) -> Rules {
    Rules { name, nft, set: &[], unset: &[] }
}

const COUNT: &str = "table inet t { chain f { type filter hook forward priority 0; counter accept; }; \
                     chain p { type filter hook prerouting priority -300; meta l4proto { tcp, udp } counter; }; \
                     chain q { type filter hook postrouting priority 300; meta l4proto { tcp, udp } counter; }; }";

pub const ALL: &[Rules] = &[
    nft("plain", COUNT),
    nft(
        "interface drops",
        "table inet t { chain f { type filter hook forward priority 0; \
           iifname guest oifname air counter drop; iifname air oifname guest counter drop; \
           iifname wire oifname air counter accept; iifname air oifname wire counter accept; counter; }; }",
    ),
    nft(
        "ct state new drop",
        "table inet t { chain f { type filter hook forward priority 0; \
           iifname air ct state new counter drop; ct state invalid counter drop; ct state established counter accept; \
           ct state new counter accept; }; }",
    ),
    nft(
        "final reject",
        "table inet t { chain f { type filter hook forward priority 0; \
           ct state established,related counter accept; iifname wire oifname air counter accept; \
           meta l4proto tcp counter reject with tcp reset; counter reject; }; }",
    ),
    nft(
        "policy drop",
        "table inet t { chain f { type filter hook forward priority 0; policy drop; \
           iifname wire oifname air ct state new,established counter accept; \
           iifname air oifname wire ct state established counter accept; counter; }; }",
    ),
    nft(
        "masquerade on the link",
        "table inet t { chain n { type nat hook postrouting priority 100; oifname air counter masquerade; }; \
           chain f { type filter hook forward priority 0; policy drop; \
           ct state established,related counter accept; iifname { wire, guest } counter accept; counter; }; }",
    ),
    nft(
        "masquerade on another",
        "table inet t { chain n { type nat hook postrouting priority 100; oifname wire counter masquerade; }; \
           chain f { type filter hook forward priority 0; counter; ct state new counter; ct status snat counter; }; }",
    ),
    nft("docker's", DOCKER),
    nft("firewalld's", FIREWALLD),
    nft("UFW's", UFW),
    nft(
        "flowtable",
        "table inet t { flowtable ft { hook ingress priority 0; devices = { wire, air }; }; \
           chain f { type filter hook forward priority 0; ct state established flow add @ft; counter; }; }",
    ),
    Rules {
        name: "strict rp_filter with src_valid_mark",
        nft: "table inet t { chain p { type filter hook prerouting priority -150; iifname wire meta mark set 0x51 counter; \
                iifname air ct mark 0x51 meta mark set 0x51 counter; }; \
                chain f { type filter hook forward priority 0; ct mark set meta mark counter; }; }",
        set: &[
            "sysctl -q -w net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.air.rp_filter=1 net.ipv4.conf.wire.rp_filter=1 \
             net.ipv4.conf.all.src_valid_mark=1",
            "ip rule add pref 90 fwmark 0x51 lookup 151",
            "ip route add 10.3.0.0/24 via 10.2.0.2 table 151",
            "ip route add 10.1.0.0/24 dev wire table 151",
        ],
        unset: &[
            "sysctl -q -w net.ipv4.conf.air.rp_filter=0 net.ipv4.conf.wire.rp_filter=0 \
             net.ipv4.conf.all.src_valid_mark=0",
            "ip rule del pref 90",
            "ip route flush table 151",
        ],
    },
    Rules {
        name: "kill switch by ip rule",
        nft: COUNT,
        set: &[
            "ip rule add pref 90 iif wire lookup 151",
            "ip rule add pref 91 iif wire unreachable",
            "ip rule add pref 92 iif guest prohibit",
            "ip route add 10.3.0.0/24 via 10.2.0.2 table 151",
            "ip -6 rule add pref 90 iif wire lookup 151",
            "ip -6 rule add pref 91 iif wire unreachable",
            "ip -6 rule add pref 92 iif guest prohibit",
            "ip -6 route add fd03::/64 via fd02::2 table 151",
        ],
        unset: &[
            "ip rule del pref 90",
            "ip rule del pref 91",
            "ip rule del pref 92",
            "ip route flush table 151",
            "ip -6 rule del pref 90",
            "ip -6 rule del pref 91",
            "ip -6 rule del pref 92",
            "ip -6 route flush table 151",
        ],
    },
];

/// As docker writes them, with `wire` for its bridge and a published port.
const DOCKER: &str = "
table inet nat {
  chain DOCKER { iifname wire counter return; iifname != wire meta nfproto ipv4 tcp dport 8080 counter dnat ip to 10.1.0.77:80
    iifname != wire meta nfproto ipv6 tcp dport 8080 counter dnat ip6 to [fd01::77]:80; }
  chain PREROUTING { type nat hook prerouting priority -100; fib daddr type local counter jump DOCKER; }
  chain POSTROUTING { type nat hook postrouting priority 100
    oifname != wire ip saddr 10.1.0.0/24 counter masquerade; oifname != wire ip6 saddr fd01::/64 counter masquerade; }
}
table inet filter {
  chain DOCKER-USER { counter return; }
  chain DOCKER-ISOLATION-STAGE-2 { oifname wire counter drop; counter return; }
  chain DOCKER-ISOLATION-STAGE-1 { iifname wire oifname != wire counter jump DOCKER-ISOLATION-STAGE-3; counter return; }
  chain DOCKER-ISOLATION-STAGE-3 { oifname guest counter drop; counter return; }
  chain DOCKER { iifname != wire oifname wire tcp dport 80 counter accept; }
  chain FORWARD { type filter hook forward priority 0; policy drop
    counter jump DOCKER-USER; counter jump DOCKER-ISOLATION-STAGE-1
    oifname wire ct state related,established counter accept; oifname wire counter jump DOCKER
    iifname wire oifname != wire counter accept; iifname wire oifname wire counter accept; }
}
";

/// As firewalld writes them: `air` in the zone external, the others in the zone internal.
const FIREWALLD: &str = "
table inet firewalld {
  chain filter_PREROUTING { type filter hook prerouting priority -290
    icmpv6 type { nd-router-advert, nd-neighbor-solicit } accept
    meta nfproto ipv6 fib saddr . mark . iif oif missing counter drop; }
  chain nat_POSTROUTING { type nat hook postrouting priority 110; jump nat_POSTROUTING_POLICIES_post; }
  chain nat_POSTROUTING_POLICIES_post { oifname air counter goto nat_POST_external; return; }
  chain nat_POST_external { oifname != lo counter masquerade; }
  chain filter_FORWARD { type filter hook forward priority 10
    ct state { established, related } counter accept; ct status dnat counter accept; iifname lo accept
    ip6 daddr { ::/96, 2002:a00::/24 } reject with icmpv6 addr-unreachable
    jump filter_FORWARD_ZONES; ct state invalid counter drop; counter reject with icmpx admin-prohibited; }
  chain filter_FORWARD_ZONES { iifname air counter goto filter_FWD_external; counter goto filter_FWD_internal; }
  chain filter_FWD_internal { iifname wire oifname air counter accept; iifname guest counter drop; counter return; }
  chain filter_FWD_external { oifname guest counter drop; return; }
}
";

/// As UFW writes them, with a route rule from `wire` to `air`.
const UFW: &str = "
table ip filter {
  chain ufw-user-forward { iifname wire oifname air counter accept; }
  chain ufw-before-forward { ct state related,established counter accept; ip protocol icmp counter accept
    counter jump ufw-user-forward; }
  chain ufw-after-forward { counter; }
  chain ufw-reject-forward { counter; }
  chain FORWARD { type filter hook forward priority 0; policy drop
    counter jump ufw-before-forward; counter jump ufw-after-forward; counter jump ufw-reject-forward; }
}
table ip6 filter {
  chain ufw6-user-forward { iifname wire oifname air counter accept; }
  chain ufw6-before-forward { rt type 0 counter drop; ct state related,established counter accept
    meta l4proto ipv6-icmp counter accept; counter jump ufw6-user-forward; }
  chain FORWARD { type filter hook forward priority 0; policy drop; counter jump ufw6-before-forward; }
}
";
