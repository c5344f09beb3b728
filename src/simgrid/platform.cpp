// A platform that SimGrid loads (smpirun -platform THIS.so): nodes with sockets behind a network, as the text file that the
// environment variable RANKWISE_PLATFORM names describes it. SimGrid's own latency and bandwidth factors are one list for
// all links; here every message's factors are set so that it takes alpha + beta * bytes of its link class while nobody
// else uses the links, and shares their bandwidth otherwise.
//
// The file has a key and its values on each line; # starts a comment. See python/rankwise/engines/platform.py.
#include "simgrid/platform_file.hpp"

#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;
using rankwise::platform::Own;
using rankwise::platform::own_time;
using rankwise::platform::Platform;
using simgrid::kernel::routing::NetPoint;

// Every route has this latency, of which the callbacks below make that of each message. SimGrid weighs a message's share of a
// link by it: equal ones share equally. Of the order of one, so that the solver's sums of weights come out even.
constexpr double route_latency_s = 2.0;

// Where a host stands: its node. Two hosts of a node are its sockets.
std::unordered_map<const s4u::Host*, unsigned long> node_of;

using Ends = std::pair<NetPoint*, NetPoint*>;

// A node: a zone with a host for each socket and the network card that they share.
Ends make_node(s4u::NetZone* parent, unsigned long id, const Platform& platform) {
  const std::string name = "n" + std::to_string(id);
  s4u::NetZone* zone = s4u::create_full_zone(name);
  zone->set_parent(parent);
  NetPoint* router = zone->create_router(name + "-router");
  const auto card = [zone, &name, &platform]() -> s4u::LinkInRoute {
    const double bytes_per_s = platform.number("card_bytes_per_s");
    if (platform.number("card_is_half_duplex") > 0) {
      return s4u::LinkInRoute(zone->create_link(name + "-card", bytes_per_s));
    }
    const s4u::SplitDuplexLink* each = zone->create_split_duplex_link(name + "-card", bytes_per_s);
    return s4u::LinkInRoute(each, s4u::LinkInRoute::Direction::UP);
  }();
  // A message takes at most the rate of the narrowest link of its route. What bounds one message alone is a link of its own
  // that never fills, next to those that messages share. (FATPIPE says the same, at the cost of a look at all messages of the
  // link for each of them whenever shares are computed: hours where thousands of ranks are mixed.)
  const auto alone = [zone, &name](const std::string& what, double bytes_per_s, double latency_s) {
    s4u::Link* link = zone->create_link(name + what, bytes_per_s);
    link->set_latency(latency_s);
    link->set_sharing_policy(s4u::Link::SharingPolicy::NONLINEAR, [](double rate, int) { return 1e9 * rate; });
    return s4u::LinkInRoute(link);
  };
  const std::vector<s4u::LinkInRoute> outside{alone("-lane", platform.number("lane_bytes_per_s"), route_latency_s / 2), card};
  std::vector<s4u::LinkInRoute> inside{alone("-inside", platform.number("inside_bytes_per_s"), route_latency_s)};
  std::vector<s4u::LinkInRoute> across{alone("-across", platform.number("across_bytes_per_s"), route_latency_s)};
  // What the ranks of a node send to each other all goes through its memory; 0: nobody knows how fast that is.
  if (const double memory = platform.number("memory_bytes_per_s"); memory > 0) {
    s4u::Link* link = zone->create_link(name + "-memory", memory);
    inside.emplace_back(link);
    across.emplace_back(link);
  }
  std::vector<s4u::Host*> sockets;
  for (unsigned s = 0; s < platform.count("sockets"); ++s) {
    s4u::Host* host = zone->create_host(name + "s" + std::to_string(s), 1e9);
    node_of[host] = id;
    for (const s4u::Host* other : sockets) {
      zone->add_route(host->get_netpoint(), other->get_netpoint(), nullptr, nullptr, across, true);
    }
    zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr, inside, false);
    zone->add_route(host->get_netpoint(), router, nullptr, nullptr, outside, true);
    sockets.push_back(host);
  }
  zone->seal();
  return {zone->get_netpoint(), router};
}

s4u::NetZone* make_network(const Platform& platform) {
  const s4u::ClusterCallbacks callbacks([&platform](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    return make_node(zone, id, platform);
  });
  const double bandwidth = platform.number("link_bytes_per_s");
  constexpr auto duplex = s4u::Link::SharingPolicy::SPLITDUPLEX;
  const std::string& topology = platform.topology();
  if (topology == "torus") {
    const std::vector<unsigned> sizes = platform.counts("sizes");
    return s4u::create_torus_zone("network", nullptr, {sizes.begin(), sizes.end()}, callbacks, bandwidth, 0.0, duplex);
  }
  if (topology == "dragonfly") {
    const std::vector<unsigned> sizes = platform.counts("sizes");  // groups, routers a group, nodes a router
    return s4u::create_dragonfly_zone("network", nullptr, {{sizes.at(0), 1U}, {1U, 1U}, {sizes.at(1), 1U}, sizes.at(2)},
                                      callbacks, bandwidth, 0.0, duplex);
  }
  if (topology == "fat-tree") {
    const std::vector<unsigned> down = platform.counts("down");
    return s4u::create_fatTree_zone(
        "network", nullptr,
        {static_cast<unsigned>(down.size()), down, platform.counts("up"), std::vector<unsigned>(down.size(), 1U)}, callbacks,
        bandwidth, 0.0, duplex);
  }
  throw std::runtime_error("platform file has the topology '" + topology + "'");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void load_platform(const s4u::Engine&);

void load_platform(const s4u::Engine&) {
  const char* path = std::getenv("RANKWISE_PLATFORM");
  if (path == nullptr) throw std::runtime_error("RANKWISE_PLATFORM names no platform file");
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("platform file '") + path + "' cannot be read");
  static const Platform platform(file);
  s4u::NetZone* network = make_network(platform);
  network->seal();

  static const bool apart = platform.count("sockets") > 1;
  const auto own = [](double bytes, const s4u::Host* from, const s4u::Host* to) -> Own {
    if (from == to) return own_time(platform.curve("same-socket"), bytes, 0.0);
    const bool inside = apart && node_of.at(from) == node_of.at(to);
    if (inside) return own_time(platform.curve("other-socket"), bytes, 0.0);
    static const double passes_bytes_per_s = platform.number("passes_bytes_per_s");
    return own_time(platform.curve("other-node"), bytes, passes_bytes_per_s);
  };
  static const double hop_latency_s = platform.number("hop_latency_s");
  static const auto nearest = static_cast<std::size_t>(platform.count("nearest_links"));
  auto model = network->get_network_model();
  model->set_lat_factor_cb([own](double bytes, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::Link*>& links,
                                 const std::unordered_set<s4u::NetZone*>&) {
    const std::size_t further = links.size() > nearest ? links.size() - nearest : 0;
    const double latency_s = own(bytes, from, to).latency_s + hop_latency_s * static_cast<double>(further);
    return latency_s / route_latency_s;
  });
  model->set_bw_factor_cb([own](double bytes, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::Link*>& links,
                                const std::unordered_set<s4u::NetZone*>&) {
    double narrowest = std::numeric_limits<double>::max();
    for (const s4u::Link* link : links) narrowest = std::min(narrowest, link->get_bandwidth());
    return std::min(own(bytes, from, to).bytes_per_s, narrowest) / narrowest;
  });
}
