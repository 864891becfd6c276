# The network of validation/ns3-gsnoop.toml for ns-2.35: five NewReno flows over the path of the G-Snoop paper.
#
#   ns ns2-gsnoop.tcl LOSS SEED BOTH_WAYS     prints packets per second acknowledged from 10 to 60 s
lassign $argv p seed both
ns-random $seed
Agent/TCP set singledup_ 1
set ns [new Simulator]
foreach n {r1 a b r2} { set $n [$ns node] }
proc link {x y rate delay} { global ns; $ns duplex-link $x $y $rate $delay DropTail; $ns queue-limit $x $y 140; $ns queue-limit $y $x 140 }
# A packet is 552 bytes; rates as in the scenario.
link $r1 $a 4.981949Mb 5ms
link $a $b 9.963899Mb 5ms
link $b $r2 9.963899Mb 5ms
set em [new ErrorModel]; $em unit pkt; $em set rate_ $p; $em ranvar [new RandomVariable/Uniform]; $em drop-target [new Agent/Null]
$ns lossmodel $em $a $b
if {$both} { set em2 [new ErrorModel]; $em2 unit pkt; $em2 set rate_ $p; $em2 ranvar [new RandomVariable/Uniform]; $em2 drop-target [new Agent/Null]; $ns lossmodel $em2 $b $a }
for {set i 0} {$i<5} {incr i} {
 set s [$ns node]; set d [$ns node]
 link $s $r1 9.963899Mb 1ms; link $r2 $d 9.963899Mb 1ms
 set tcp [new Agent/TCP/Newreno]; $tcp set packetSize_ 512; $tcp set window_ 256; $tcp set windowInit_ 1; $tcp set minrto_ 1; $tcp set maxrto_ 60
 set sink [new Agent/TCPSink]; $ns attach-agent $s $tcp; $ns attach-agent $d $sink; $ns connect $tcp $sink
 set ftp [new Application/FTP]; $ftp attach-agent $tcp; lappend tcps $tcp
 $ns at [expr 0.1*$i] "$ftp start"
}
proc count {} { global tcps; set s 0; foreach t $tcps { set s [expr $s+[$t set ack_]] }; return $s }
$ns at 10.0 { set ::c10 [count] }
$ns at 60.0 { puts [expr ([count]-$::c10)/50.0]; exit 0 }
$ns run
