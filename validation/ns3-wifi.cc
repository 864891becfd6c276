// Saturated 802.11b stations in ns-3, for docs/limits.md: what becomes of them around the access point, and at one point.
//
//   c++ -std=c++17 -O2 -I/usr/include/ns3.37 validation/ns3-wifi.cc -o target/ns3-wifi \
//       /usr/lib/x86_64-linux-gnu/libns3.37-{applications,internet,network,mobility,wifi,core}.so
//   target/ns3-wifi --stations=80 --radius=5
//
// 11 Mbit/s, long preamble, ACK at 2 Mbit/s, 7 transmissions, packets of 1000 bytes over UDP, more than the medium takes.
// Prints goodput in Mbit/s, the share of data frames that were not acknowledged, and how many stations were heard. At one
// point stations join less reliably: with 80 not all of them do.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"
#include <cmath>
#include <iostream>
#include <set>

using namespace ns3;

static const double WARM = 3;
static uint64_t g_bytes = 0, g_frames = 0, g_failed = 0;
static std::set<Address> g_heard;

static bool IsMeasured()
{
    return Simulator::Now() >= Seconds(WARM);
}

static void Received(Ptr<const Packet> packet, const Address& from)
{
    if (IsMeasured())
    {
        g_bytes += packet->GetSize();
        g_heard.insert(from);
    }
}

static void Sent(std::string, Ptr<const Packet> packet, double)
{
    g_frames += IsMeasured() && packet->GetSize() > 500;
}

static void Failed(std::string, Mac48Address)
{
    g_failed += IsMeasured();
}

int main(int count, char** arguments)
{
    uint32_t stations = 80, seed = 1;
    double radius = 5, seconds = 15;
    CommandLine command;
    command.AddValue("stations", "stations that send", stations);
    command.AddValue("radius", "their distance from the access point in m; 0 puts them at one point beside it", radius);
    command.AddValue("seconds", "time that is measured", seconds);
    command.AddValue("seed", "seed", seed);
    command.Parse(count, arguments);
    RngSeedManager::SetSeed(seed);
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(999999));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("500p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(100)));

    NodeContainer nodes, ap;
    nodes.Create(stations);
    ap.Create(1);
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("DsssRate11Mbps"),
                                 "ControlMode", StringValue("DsssRate2Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::StaWifiMac", "ActiveProbing", BooleanValue(false));
    NetDeviceContainer station_devices = wifi.Install(phy, mac, nodes);
    mac.SetType("ns3::ApWifiMac");
    NetDeviceContainer ap_device = wifi.Install(phy, mac, ap);

    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < stations; ++i)
    {
        double angle = 2 * M_PI * i / stations;
        places->Add(radius > 0 ? Vector(radius * cos(angle), radius * sin(angle), 0) : Vector(1, 0, 0));
    }
    places->Add(Vector(0, 0, 0));
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    mobility.Install(ap);

    InternetStackHelper stack;
    stack.Install(nodes);
    stack.Install(ap);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.0.0");
    addresses.Assign(station_devices);
    Ipv4Address sink = addresses.Assign(ap_device).GetAddress(0);
    PacketSinkHelper receiver("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    receiver.Install(ap.Get(0)).Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
    for (uint32_t i = 0; i < stations; ++i)
    {
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(sink, 9));
        source.SetConstantRate(DataRate(uint64_t(8e6 / stations + 200000)), 1000);
        source.Install(nodes.Get(i)).Start(Seconds(1 + 0.5 * i / stations));
    }
    std::string device = "/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/";
    Config::Connect(device + "Phy/PhyTxBegin", MakeCallback(&Sent));
    Config::Connect(device + "RemoteStationManager/MacTxDataFailed", MakeCallback(&Failed));
    Simulator::Stop(Seconds(WARM + seconds));
    Simulator::Run();
    std::cout << "goodput " << g_bytes * 8 / seconds / 1e6 << " failed " << double(g_failed) / g_frames << " heard "
              << g_heard.size() << "\n";
    Simulator::Destroy();
}
