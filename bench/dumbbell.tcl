# The reference dumbbell for ns-2: 50 TCP flows (SACK, windows not limiting) over one 100 Mbit/s link, RTT 20 ms,
# queue 200 packets, 20 s; 1500-byte IP packets. Prints the data packets sent.
# The same network for airtcp: crates/sim/examples/dumbbell.rs.
set ns [new Simulator]
set flows 50
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 100Mb 8ms DropTail
$ns queue-limit $left $right 200
$ns queue-limit $right $left 200
for {set i 0} {$i < $flows} {incr i} {
    set sender [$ns node]
    set receiver [$ns node]
    $ns duplex-link $sender $left 1000Mb 1ms DropTail
    $ns duplex-link $right $receiver 1000Mb 1ms DropTail
    foreach {a b} [list $sender $left $right $receiver] {
        $ns queue-limit $a $b 10000
        $ns queue-limit $b $a 10000
    }
    set tcp [new Agent/TCP/Sack1]
    $tcp set packetSize_ 1460
    $tcp set window_ 10000
    $tcp set windowInit_ 10
    $tcp set minrto_ 0.2
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $sender $tcp
    $ns attach-agent $receiver $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    lappend senders $tcp
    $ns at [expr 0.01 * $i] "$ftp start"
}
proc report {} {
    global senders
    set packets 0
    foreach tcp $senders { incr packets [$tcp set ndatapack_] }
    puts $packets
    exit 0
}
$ns at 20.0 report
$ns run
