# The race's networks for ns-2: N TCP flows over one link. The same for airtcp and ns-3: crates/bench/src/dumbbell.rs,
# bench/ns3/dumbbell.cc.
#
#   ns dumbbell.tcl FLOWS RATE MIDDLE_DELAY QUEUE_PACKETS SECONDS
#
# NewReno, an acknowledgment per segment, no timestamps, no SACK, 1500-byte IP packets, windows not limiting. Prints
# the data packets sent and the bytes that arrived, both up to the end.
lassign $argv flows rate delay queue seconds
Agent/TCP set singledup_ 1 ;# limited transmit (RFC 3042), as the others
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $delay DropTail
$ns queue-limit $left $right $queue
$ns queue-limit $right $left $queue
for {set i 0} {$i < $flows} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    $ns duplex-link $sender $left 1000Mb 1ms DropTail
    $ns duplex-link $right $receiver 1000Mb 1ms DropTail
    foreach {a b} [list $sender $left $right $receiver] {
        $ns queue-limit $a $b 10000
        $ns queue-limit $b $a 10000
    }
    set tcp [new Agent/TCP/Newreno]
    $tcp set packetSize_ 1460
    $tcp set window_ 10000
    $tcp set windowInit_ 10
    $tcp set minrto_ 0.2
    set sink [new Agent/TCPSink]
    $ns attach-agent $sender $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    lappend senders $tcp
    lappend sinks $sink
    $ns at [expr 0.01 * $i] "$ftp start"
}
proc report {} {
    global senders sinks
    set packets 0
    set bytes 0
    foreach tcp $senders {
        incr packets [$tcp set ndatapack_]
        # The highest acknowledged segment, counted from 0.
        set bytes [expr $bytes + ([$tcp set ack_] + 1) * 1460.0]
    }
    puts "$packets [format %.0f $bytes]"
    exit 0
}
$ns at $seconds report
$ns run
