# Words of a plan. What the host reads are lines that begin with '@'.
say() { echo "# $*"; }

# The real ones: busybox takes its own without looking at PATH.
ip() { /sbin/ip "$@"; }
tc() { /sbin/tc "$@"; }

# add_namespace NAME: without IPv6, whose addresses and routes come by themselves.
add_namespace() {
    ip netns add $1
    ip netns exec $1 sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}

server_up() {
    add_namespace srv
    ip link add net0 type veth peer name net1 netns srv
    ip addr add 10.9.1.1/24 dev net0
    ip link set net0 up
    ip -n srv addr add 10.9.1.2/24 dev net1
    ip -n srv link set net1 up
    ip -n srv link set lo up
    ip -n srv route add default via 10.9.1.1
    # The simulator's wired link: 15 ms each way.
    tc qdisc add dev net0 root netem delay 15ms limit 1000
    tc -n srv qdisc add dev net1 root netem delay 15ms limit 1000
}

access_point_up() {
    [ "$phy" = n ] && sed -i 's/^\(ieee80211n\|wmm_enabled\)=0/\1=1/' /etc/hostapd.conf
    hostapd -B /etc/hostapd.conf >/run/wifi/hostapd.log 2>&1 || cat /run/wifi/hostapd.log
    ip addr add 10.9.0.1/24 dev wlan0
}

# station_up NUMBER
station_up() {
    add_namespace sta$1
    iw phy $(cat /sys/class/net/wlan$1/phy80211/name) set netns name sta$1
    ip -n sta$1 link set lo up
    ip -n sta$1 link set wlan$1 up
    in_station $1 wpa_supplicant -B -i wlan$1 -D nl80211 -c /etc/wpa.conf >/run/wifi/wpa$1.log 2>&1 || cat /run/wifi/wpa$1.log
    local tries=100
    until in_station $1 iw dev wlan$1 link | grep -q Connected; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { say "station $1 does not join"; cat /run/wifi/wpa$1.log; break; }
        sleep 0.1
    done
    ip -n sta$1 addr add 10.9.0.$((10 + $1))/24 dev wlan$1
    ip -n sta$1 route add default via 10.9.0.1
}

# in_station NUMBER COMMAND...
in_station() {
    local number=$1
    shift
    ip netns exec sta$number "$@"
}

# wait_for FILE WORD: until a line of the file begins with the word, ten seconds at most.
wait_for() {
    local tries=100
    until grep -q "$2" $1 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { say "no '$2' in $1:"; cat $1; return 1; }
        sleep 0.1
    done
}

# medium_up SEED KEY=VALUE...: our air in place of the kernel's, which loses nothing.
medium_up() {
    local seed=$1 settings=
    shift
    for setting in "$@"; do settings="$settings --set $setting"; done
    airtcp-wifi medium --stations $stations --seed $seed $settings >/run/wifi/medium 2>&1 &
    medium=$!
    wait_for /run/wifi/medium ready
}

medium_down() {
    kill $medium
    wait $medium
    echo "@medium $(tail -n 1 /run/wifi/medium)"
}

# gateway_up FILE [NAMESPACE]
gateway_up() {
    ${2:+/sbin/ip netns exec $2} airtcp gateway /etc/airtcp/$1.toml >/run/wifi/$1.log 2>&1 &
    echo $! >/run/wifi/$1.pid
    wait_for /run/wifi/$1.log "$running"
}
running='packets are taken\|running\|ready'

gateways_up() {
    gateway_up wlan0
    for number in $(seq $stations); do gateway_up wlan$number sta$number; done
}

gateways_down() {
    for number in $(seq 0 $stations); do
        kill $(cat /run/wifi/wlan$number.pid)
        wait $(cat /run/wifi/wlan$number.pid)
    done
}

# upload BYTES SEED: every station sends to the server at the same time.
upload() {
    ip netns exec srv airtcp-wifi receive 10.9.1.2:5000 --count $stations >/run/wifi/received &
    local receiver=$! senders=
    sleep 0.5
    for number in $(seq $stations); do
        in_station $number airtcp-wifi send 10.9.1.2:5000 --bytes $1 --seed $(($2 * 16 + number)) >/run/wifi/sent$number 2>&1 &
        senders="$senders $!"
    done
    wait $senders
    wait $receiver
    for number in $(seq $stations); do echo "@sent $(tail -n 1 /run/wifi/sent$number)"; done
    sed 's/^/@received /' /run/wifi/received
}

# run plain|as-tcp SEED BYTES KEY=VALUE...: one transfer by all stations over one air.
run() {
    local scheme=$1 seed=$2 bytes=$3
    shift 3
    echo "@run {\"scheme\":\"$scheme\",\"stations\":$stations,\"seed\":$seed,\"bytes\":$bytes,\"settings\":\"$*\"}"
    medium_up $seed "$@"
    [ $scheme = plain ] || gateways_up
    upload $bytes $seed
    [ $scheme = plain ] || { tell; gateways_down; }
    medium_down
    echo "@end"
}

# What the gateways say of themselves.
tell() {
    for number in $(seq 0 $stations); do
        echo "@status $(airtcp status wlan$number --json 2>&1 | tr -d '\n')"
    done
}

# fault WHO HOW SEED BYTES: everything runs, and while the first station uploads, WHO (0 the access point's gateway, 1 the
# station's) is killed or stopped HOW (KILL or STOP), with its worker, at a time drawn from the seed. What both ends saw and
# whether the network is as it was.
fault() {
    local who=$1 how=$2 seed=$3 bytes=$4 name=wlan$1
    echo "@run {\"scheme\":\"$name $how\",\"stations\":1,\"seed\":$seed,\"bytes\":$bytes,\"settings\":\"\"}"
    medium_up $seed
    network >/run/wifi/before
    gateways_up
    ip netns exec srv airtcp-wifi receive 10.9.1.2:5000 --patience 90 >/run/wifi/received &
    local receiver=$!
    sleep 0.5
    in_station 1 airtcp-wifi send 10.9.1.2:5000 --bytes $bytes --seed $seed >/run/wifi/sent1 2>&1 &
    local sender=$!
    # From 0.2 to 2.2 s.
    local late=$(((seed * 7919 + who * 104729) % 2000 + 200))
    sleep $((late / 1000)).$(printf %03d $((late % 1000)))
    local began=$(cut -d' ' -f1 /proc/uptime)
    all_of $(cat /run/wifi/$name.pid) $how
    wait $sender $receiver
    echo "@lasted [$began,$(cut -d' ' -f1 /proc/uptime)]"
    # Others go on, and new connections pass.
    ip netns exec srv airtcp-wifi receive 10.9.1.2:5001 --patience 30 >/run/wifi/received2 &
    receiver=$!
    sleep 0.5
    in_station 1 airtcp-wifi send 10.9.1.2:5001 --bytes 20000 --seed $seed >/run/wifi/sent2 2>&1
    wait $receiver
    echo "@sent $(tail -n 1 /run/wifi/sent1)"
    sed 's/^/@received /' /run/wifi/received
    echo "@sent $(tail -n 1 /run/wifi/sent2)"
    sed 's/^/@received /' /run/wifi/received2
    [ $how = STOP ] && all_of $(cat /run/wifi/$name.pid) KILL
    for number in $(seq 0 $stations); do [ $number = $who ] || kill $(cat /run/wifi/wlan$number.pid); done
    sleep 1
    network >/run/wifi/after
    cmp -s /run/wifi/before /run/wifi/after && echo "@network \"same\"" || { echo "@network \"changed\""; diff /run/wifi/before /run/wifi/after; }
    medium_down
    echo "@end"
}

# all_of PID SIGNAL: a supervisor and its worker at the same time, the worker first.
all_of() { kill -$2 $(children_of $1) $1; }

children_of() {
    awk -v parent=$1 '/^Pid:/ { pid = $2 } /^PPid:/ { if ($2 == parent) print pid }' /proc/[0-9]*/status 2>/dev/null
}

# The devices, addresses, routes and rules of the access point and the station, and what is attached to links.
network() {
    for inside in "" "-n sta1"; do
        ip $inside -o link | sed 's/ qlen .*//'
        ip $inside -o addr | sed 's/valid_lft.*//'
        ip $inside route show table all
        ip $inside rule
    done
}
