// Messages between ranks of different nodes, passed on by others so that few cross (Bienz, Gropp and Olson 2019, J. Parallel
// Distrib. Comput. 130, and 2020, Int. J. High Perform. Comput. Appl. 34). A packet is all that one rank has for another; it
// stays whole. What ranks of one node have for each other goes straight, in the first step.
//
// three-step  1. packets are brought to the rank of their node that has to do with the node they go to; 2. it sends them in
//             one message; 3. the rank that gets them hands them out. A node's pairs with others are dealt to its ranks in
//             turn, the heaviest first, those that go out and those that come apart.
// leader      the same, all by the first rank of each node.
// two-step    every rank sends all that it has for a node in one message, to the rank there whose place in its node is its own
//             (modulo their number); that hands it out.
//
// Schedules of blocks that many ranks need alike are in schedule/striped.cpp. Nothing here grows with the number of ranks.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace rankwise {

enum class NodeAwareKind { two_step, three_step, leader };

struct Packet {
  Index source = 0;
  Index dest = 0;
  bool operator==(const Packet&) const = default;
  auto operator<=>(const Packet&) const = default;
};

// What all ranks of a node know of its traffic. Nodes are named by their lowest ranks.
struct NodeTraffic {
  struct Message {
    Packet packet;
    Index node = 0;   // of the other end: that which is not here, or this one
    Index bytes = 0;  // that usually travel
  };
  std::vector<Index> members;  // ascending
  std::vector<Message> inside;
  std::vector<Message> out;
  std::vector<Message> in;
};

// What the ranks of a node tell those of another.
struct NodeLeaders {
  Index node = 0;
  Index sender = -1;    // the rank there that sends to this node, -1: none
  Index receiver = -1;  // that receives what this node sends
  std::vector<Index> members;
};

// The ranks of the own node that have to do with each other node, in ascending order of the nodes: `members` are the own ones.
[[nodiscard]] std::vector<NodeLeaders> node_leaders(NodeAwareKind kind, const NodeTraffic& traffic);

// One rank's part: a schedule whose slots are packets.
struct NodeAwareSchedule {
  RankSchedule schedule;
  std::vector<Packet> slots;
};

// Of a member of the node. there: what the other nodes sent of themselves, in ascending order.
[[nodiscard]] NodeAwareSchedule node_aware_schedule(NodeAwareKind kind, Index rank, const NodeTraffic& traffic,
                                                    const std::vector<NodeLeaders>& there);

}  // namespace rankwise
