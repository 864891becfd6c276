// The race's networks for ns-3: N TCP flows over one link. The same for airtcp and ns-2: crates/bench/src/dumbbell.rs,
// bench/ns2/dumbbell.tcl.
//
//   dumbbell FLOWS RATE MIDDLE_DELAY QUEUE_PACKETS SECONDS
//
// NewReno, an acknowledgment per segment, no timestamps, no SACK, 1500-byte IP packets, windows not limiting. Prints
// the data packets sent and the bytes that arrived.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <iostream>

using namespace ns3;

static uint64_t g_packets = 0;

static void Sent(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
{
    g_packets += packet->GetSize() > 0;
}

static void TraceSender(Ptr<Application> application)
{
    Ptr<Socket> socket = DynamicCast<BulkSendApplication>(application)->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sent));
}

int main(int argc, char* argv[])
{
    if (argc != 6)
    {
        std::cerr << "dumbbell FLOWS RATE MIDDLE_DELAY QUEUE_PACKETS SECONDS\n";
        return 2;
    }
    const uint32_t flows = std::stoul(argv[1]);
    const std::string rate = argv[2], delay = argv[3], queue = std::string(argv[4]) + "p";
    const double seconds = std::stod(argv[5]);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    NodeContainer middle, senders, receivers;
    middle.Create(2);
    senders.Create(flows);
    receivers.Create(flows);
    InternetStackHelper().InstallAll();

    PointToPointHelper bottleneck, access;
    bottleneck.SetDeviceAttribute("DataRate", StringValue(rate));
    bottleneck.SetDeviceAttribute("Mtu", UintegerValue(1500));
    bottleneck.SetChannelAttribute("Delay", StringValue(delay));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    access.SetDeviceAttribute("Mtu", UintegerValue(1500));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    TrafficControlHelper control;
    auto connect = [&](PointToPointHelper& link, Ptr<Node> from, Ptr<Node> to) {
        NetDeviceContainer devices = link.Install(from, to);
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        control.Uninstall(devices); // the device's queue is the only one
        return interfaces.GetAddress(1);
    };
    connect(bottleneck, middle.Get(0), middle.Get(1));
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows; i++)
    {
        connect(access, senders.Get(i), middle.Get(0));
        const Ipv4Address to = connect(access, middle.Get(1), receivers.Get(i));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0)));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
        ApplicationContainer sender = source.Install(senders.Get(i));
        const Time start = MilliSeconds(10 * i);
        sender.Start(start);
        Simulator::Schedule(start + NanoSeconds(1), &TraceSender, sender.Get(0));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t bytes = 0;
    for (const auto& sink : sinks)
    {
        bytes += sink->GetTotalRx();
    }
    std::cout << g_packets << " " << bytes << "\n";
    Simulator::Destroy();
    return 0;
}
