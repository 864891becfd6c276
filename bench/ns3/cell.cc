// The race's cells for ns-3: N TCP uploads in a cell of 802.11b, or of 802.11n with aggregates. The same for airtcp and ns-2: crates/bench/src/cell.rs,
// bench/ns2/cell.tcl.
//
//   cell STATIONS QUEUE_PACKETS SECONDS WIRED AGGREGATED
//
// 11 Mbit/s, long preamble, ACK at 2 Mbit/s, no RTS; NewReno, an acknowledgment per segment, 1040-byte IP packets, windows of
// 65,000 bytes. WIRED is 1 for a server 15 ms behind the access point, 0 for one at it. AGGREGATED is 1 for
// 802.11n at 5 GHz, MCS 7 (65 Mbit/s), answers at 24 Mbit/s. Prints the data packets sent and the
// bytes that arrived.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"
#include <cmath>
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

static void SetUp()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(20000));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(6)));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(6)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(6)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(999999));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::ArpCache::PendingQueueSize", UintegerValue(100));
}

/// Stations around the access point, which is the last node.
static void Place(NodeContainer stations, Ptr<Node> ap)
{
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < stations.GetN(); ++i)
    {
        const double angle = 2 * M_PI * i / stations.GetN();
        places->Add(Vector(5 * cos(angle), 5 * sin(angle), 0));
    }
    places->Add(Vector(0, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(stations);
    mobility.Install(ap);
}

int main(int argc, char* argv[])
{
    if (argc != 6)
    {
        std::cerr << "cell STATIONS QUEUE_PACKETS SECONDS WIRED AGGREGATED\n";
        return 2;
    }
    const uint32_t count = std::stoul(argv[1]);
    const std::string queue = std::string(argv[2]) + "p";
    const double seconds = std::stod(argv[3]);
    const bool wired = std::stoul(argv[4]) != 0, aggregated = std::stoul(argv[5]) != 0;
    SetUp();

    NodeContainer stations, others;
    stations.Create(count);
    others.Create(wired ? 3 : 1); // access point, router, server
    InternetStackHelper().InstallAll();
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(aggregated ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                 StringValue(aggregated ? "HtMcs7" : "DsssRate11Mbps"), "ControlMode",
                                 StringValue(aggregated ? "OfdmRate24Mbps" : "DsssRate2Mbps"));
    if (aggregated)
    {
        // The window is the sender's buffer here: with a receiver's window below it ns-3.37 ends by a segmentation fault.
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20000));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(60000));
        Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(100000));
        phy.Set("ChannelSettings", StringValue("{0, 20, BAND_5GHZ, 0}"));
        Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    }
    WifiMacHelper mac;
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(queue)));
    mac.SetType("ns3::StaWifiMac", "ActiveProbing", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac");
    devices.Add(wifi.Install(phy, mac, others.Get(0)));
    Place(stations, others.Get(0));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.0.0");
    TrafficControlHelper control;
    const Ipv4InterfaceContainer of_cell = addresses.Assign(devices);
    control.Uninstall(devices); // the interface's queue is the only one
    Ipv4Address to = of_cell.GetAddress(count);
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    for (uint32_t i = 0; i + 1 < others.GetN(); ++i)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
        link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(i == 0 ? 5 : 10)));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
        NetDeviceContainer ends = link.Install(others.Get(i), others.Get(i + 1));
        to = addresses.Assign(ends).GetAddress(1);
        addresses.NewNetwork();
        control.Uninstall(ends);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper receiver("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    Ptr<PacketSink> sink = DynamicCast<PacketSink>(receiver.Install(others.Get(others.GetN() - 1)).Get(0));
    for (uint32_t i = 0; i < count; i++)
    {
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to, 9));
        source.SetAttribute("SendSize", UintegerValue(1000));
        ApplicationContainer sender = source.Install(stations.Get(i));
        const Time start = Seconds(1 + 0.5 * (i + 1) / count);
        sender.Start(start);
        Simulator::Schedule(start + NanoSeconds(1), &TraceSender, sender.Get(0));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << g_packets << " " << sink->GetTotalRx() << "\n";
    Simulator::Destroy();
    return 0;
}
