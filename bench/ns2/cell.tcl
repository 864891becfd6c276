# The race's cells for ns-2: N TCP uploads in an 802.11b cell. The same for airtcp and ns-3: crates/bench/src/cell.rs,
# bench/ns3/cell.cc.
#
#   ns cell.tcl STATIONS QUEUE_PACKETS SECONDS
#
# 11 Mbit/s, long preamble, ACK at 2 Mbit/s, no RTS; NewReno, an acknowledgment per segment, 1040-byte IP packets, windows of
# 62 segments. The servers are at the access point: ns-2's cells are wireless nodes of equal rights without a wired part.
# Prints the data packets sent and the bytes that arrived, both up to the end.
lassign $argv stations queue seconds
Agent/TCP set window_ 20 ;# and the first threshold of slow start
Mac/802_11 set dataRate_ 11Mb
Mac/802_11 set basicRate_ 2Mb
Mac/802_11 set RTSThreshold_ 3000
Mac/802_11 set ShortRetryLimit_ 7
Mac/802_11 set CWMin_ 31
Mac/802_11 set CWMax_ 1023
Mac/802_11 set SlotTime_ 0.000020
Mac/802_11 set SIFS_ 0.000010
Mac/802_11 set PreambleLength_ 144
Mac/802_11 set PLCPHeaderLength_ 48
Mac/802_11 set PLCPDataRate_ 1.0e6
set ns [new Simulator]
$ns trace-all [open /dev/null w]
set place [new Topography]
$place load_flatgrid 100 100
create-god [expr $stations + 1]
$ns node-config -adhocRouting DumbAgent -llType LL -macType Mac/802_11 -ifqType Queue/DropTail -ifqLen $queue \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $place -agentTrace OFF -routerTrace OFF -macTrace OFF \
    -movementTrace OFF
for {set i 0} {$i <= $stations} {incr i} {
    set node($i) [$ns node]
    # Around the access point, which is node 0, so that nobody is nearer to it than another.
    set angle [expr 6.283185307 * $i / $stations]
    $node($i) set X_ [expr 50 + ($i > 0) * 10 * cos($angle)]
    $node($i) set Y_ [expr 50 + ($i > 0) * 10 * sin($angle)]
    $node($i) set Z_ 0
}
for {set i 1} {$i <= $stations} {incr i} {
    set tcp [new Agent/TCP/Newreno]
    $tcp set packetSize_ 1000
    $tcp set windowInit_ 10
    $tcp set minrto_ 6.0
    $tcp set rtxcur_init_ 6.0
    set sink [new Agent/TCPSink]
    $ns attach-agent $node($i) $tcp
    $ns attach-agent $node(0) $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    lappend senders $tcp
    $ns at [expr 1 + 0.5 * $i / $stations] "$ftp start"
}
proc report {} {
    global senders
    set packets 0
    set bytes 0
    foreach tcp $senders {
        incr packets [$tcp set ndatapack_]
        # The highest acknowledged segment, counted from 0.
        set bytes [expr $bytes + ([$tcp set ack_] + 1) * 1000.0]
    }
    puts "$packets [format %.0f $bytes]"
    exit 0
}
$ns at $seconds report
$ns run
