// Aggregated 802.11 cells in ns-3: the networks of validation/ns3-wifi-aggregated.csv. The same for airtcp:
// validation/ns3-wifi-aggregated.toml.
//
//   c++ -std=c++17 -O2 validation/ns3-wifi-aggregated.cc -o target/ns3-wifi-aggregated \
//       -lns3-{applications,internet,network,mobility,point-to-point,traffic-control,wifi,core}
//   target/ns3-wifi-aggregated --standard=n --traffic=up --stations=5 --seed=1
//
// One spatial stream at 5 GHz: n has MCS 7 at 20 MHz (65 Mbit/s), ac MCS 8 at 80 MHz (351 Mbit/s), ax MCS 11 at 80 MHz and a
// guard interval of 800 ns (600.5 Mbit/s). Answers at 24 Mbit/s, no RTS, the longest aggregates that the standard has, a window of
// block ACK of 64 frames (n, ac) or 256 (ax). A lost block ACK is not asked for: the frames are sent again, until they arrive. (With a limit
// ns-3.37 gives a whole aggregate up after so many failures in all: a block ACK does not begin the count anew.)
//
// Traffic: "udp" is more packets of 1472 bytes than the cell takes, from each station to the access point. "up" and "down"
// are TCP between each station and a server 2 ms behind the access point: NewReno with SACK, segments of 1460 bytes, an
// acknowledgment for two, 1780 / stations of them in the sender's buffer, which is the window: there is always enough for an
// aggregate, and queues never overflow.
//
// Prints goodput in Mbit/s, Jain's index, and the mean number of frames in a transmission of data.
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
#include <vector>

using namespace ns3;

static double g_warm = 4;
static uint64_t g_frames = 0, g_transmissions = 0;
static std::vector<uint64_t> g_bytes;

static bool IsMeasured()
{
    return Simulator::Now() >= Seconds(g_warm);
}

static void Received(uint32_t flow, Ptr<const Packet> packet, const Address&)
{
    g_bytes[flow] += IsMeasured() ? packet->GetSize() : 0;
}

static void Sent(std::string, WifiConstPsduMap psdus, WifiTxVector, double)
{
    for (const auto& [id, psdu] : psdus)
    {
        if (IsMeasured() && psdu->GetHeader(0).IsQosData())
        {
            g_frames += psdu->GetNMpdus();
            ++g_transmissions;
        }
    }
}

/// Stations around the access point, which is the last.
static void Place(NodeContainer stations, Ptr<Node> ap, double radius)
{
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < stations.GetN(); ++i)
    {
        const double angle = 2 * M_PI * i / stations.GetN();
        places->Add(Vector(radius * cos(angle), radius * sin(angle), 0));
    }
    places->Add(Vector(0, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(stations);
    mobility.Install(ap);
}

static void SetUp(uint32_t delayed, uint32_t stations, const std::string& queue)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayed));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1780 / stations * 1460));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(4692480));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(100000));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize(queue)));
    Config::SetDefault("ns3::QosTxop::UseExplicitBarAfterMissedBlockAck", BooleanValue(false));
    Config::SetDefault("ns3::ArpCache::PendingQueueSize", UintegerValue(1000));
}

int main(int count, char** arguments)
{
    std::string standard = "n", traffic = "udp";
    uint32_t stations = 5, seed = 1, delayed = 2;
    double seconds = 5, radius = 1;
    CommandLine command;
    command.AddValue("standard", "n, ac or ax", standard);
    command.AddValue("traffic", "udp, up or down", traffic);
    command.AddValue("stations", "stations", stations);
    command.AddValue("radius", "distance from the access point in m; at 5 m 1024-QAM of ax loses frames", radius);
    command.AddValue("warm", "time before it is measured", g_warm);
    command.AddValue("seconds", "time that is measured", seconds);
    command.AddValue("delayed", "segments for an acknowledgment", delayed);
    command.AddValue("seed", "seed", seed);
    command.Parse(count, arguments);
    RngSeedManager::SetSeed(seed);
    SetUp(delayed, stations, traffic == "udp" ? "3000p" : "5000p");
    g_bytes.resize(stations);

    NodeContainer nodes, others;
    nodes.Create(stations);
    others.Create(2); // access point, server
    InternetStackHelper().InstallAll();
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue(standard == "n" ? "{0, 20, BAND_5GHZ, 0}" : "{0, 80, BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(standard == "n"    ? WIFI_STANDARD_80211n
                     : standard == "ac" ? WIFI_STANDARD_80211ac
                                        : WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode",
                                 StringValue(standard == "n"    ? "HtMcs7"
                                             : standard == "ac" ? "VhtMcs8"
                                                                : "HeMcs11"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    const uint32_t ampdu = standard == "n" ? 65535 : standard == "ac" ? 1048575 : 6500631;
    Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(ampdu));
    Config::SetDefault("ns3::HeConfiguration::MpduBufferSize", UintegerValue(256));
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
    WifiMacHelper mac;
    mac.SetType("ns3::StaWifiMac", "ActiveProbing", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    mac.SetType("ns3::ApWifiMac");
    devices.Add(wifi.Install(phy, mac, others.Get(0)));
    Place(nodes, others.Get(0), radius);

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.0.0");
    TrafficControlHelper control;
    const Ipv4InterfaceContainer of_cell = addresses.Assign(devices);
    control.Uninstall(devices); // the interface's queue is the only one
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(2)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("10000p"));
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    NetDeviceContainer ends = link.Install(others);
    const Ipv4Address server = addresses.Assign(ends).GetAddress(1);
    control.Uninstall(ends);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t i = 0; i < stations; ++i)
    {
        const bool is_udp = traffic == "udp", is_down = traffic == "down";
        const std::string socket = is_udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
        const Ipv4Address to = is_udp ? of_cell.GetAddress(stations) : is_down ? of_cell.GetAddress(i) : server;
        const InetSocketAddress address(to, 1000 + i);
        PacketSinkHelper receiver(socket, InetSocketAddress(Ipv4Address::GetAny(), 1000 + i));
        Ptr<Node> at = is_udp ? others.Get(0) : is_down ? nodes.Get(i) : others.Get(1);
        receiver.Install(at).Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i));
        const Time start = Seconds(1 + 0.5 * (i + 1) / stations);
        if (is_udp)
        {
            OnOffHelper source(socket, address);
            const double more = standard == "n" ? 1.5e8 : standard == "ac" ? 7e8 : 2e9;
            source.SetConstantRate(DataRate(uint64_t(more / stations)), 1472);
            source.Install(nodes.Get(i)).Start(start);
        }
        else
        {
            BulkSendHelper source(socket, address);
            source.SetAttribute("SendSize", UintegerValue(1460));
            source.Install(is_down ? others.Get(1) : nodes.Get(i)).Start(start);
        }
    }
    Config::Connect("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Phy/PhyTxPsduBegin", MakeCallback(&Sent));
    Simulator::Stop(Seconds(g_warm + seconds));
    Simulator::Run();
    double sum = 0, squares = 0;
    for (uint64_t bytes : g_bytes)
    {
        sum += bytes;
        squares += double(bytes) * bytes;
    }
    std::cout << sum * 8 / seconds / 1e6 << " " << sum * sum / squares / stations << " "
              << double(g_frames) / g_transmissions << "\n";
    Simulator::Destroy();
}
