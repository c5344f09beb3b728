// What messages cost over links, and how long they hold what they pass.
#include "cost/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../machine.hpp"
#include "../refused.hpp"

namespace rankwise {
namespace {

using rankwise_test::error_of;
using rankwise_test::near_class;

TEST(TimeCurve, UsesTheLineOfItsSize) {
  const TimeCurve curve({{10, 1.0, 0.0}, {100, 0.0, 0.1}});
  EXPECT_DOUBLE_EQ(curve(5), 1.0);
  EXPECT_DOUBLE_EQ(curve(99), 1.0);
  EXPECT_DOUBLE_EQ(curve(100), 10.0);
  EXPECT_THROW(TimeCurve({}), std::invalid_argument);
  EXPECT_THROW(TimeCurve({{5, 1, 1}, {5, 1, 1}}), std::invalid_argument);
  EXPECT_THROW(TimeCurve({{0, 1, 1}, {5, 1, 1}, {4, 1, 1}}), std::invalid_argument);
}

TEST(TimeCurve, HoldsForWhatIsNoLatency) {
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 3.0, 2.0}}).hold_s(5), 10.0);
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 0.0, 2.0}}).hold_s(5), 0.999 * 10.0);
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 4.0, 0.0}}).hold_s(5), 4.0 - 0.999 * 4.0);
}

TEST(TimeCurve, TheLaneIsTheBestRateOfAKnownSize) {
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 7.0, 0.0}}).lane(), 0.0);
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 1.0, 0.25}}).lane(), 4.0);                            // where it goes on for ever
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 1.0, 0.25}}, 12).lane(), 3.0);                        // 12 / (1 + 3)
  EXPECT_DOUBLE_EQ(TimeCurve({{8, 1.0, 0.25}}, 8).lane(), 8 / 3.0);                     // its own start
  EXPECT_DOUBLE_EQ(TimeCurve({{0, 1.0, 0.25}, {20, 20.0, 0.5}}, 21).lane(), 20 / 6.0);  // the end of the first line
  EXPECT_DOUBLE_EQ(TimeCurve({{10, 1.0, 0.1}, {20, 20.0, 0.5}, {30, 50.0, 9.0}}, 40).lane(), 20 / 3.0);
  EXPECT_DOUBLE_EQ(TimeCurve({{10, 1.0, 0.9}, {20, 2.0, 0.4}, {30, 50.0, 9.0}}, 40).lane(), 30 / 14.0);
  EXPECT_DOUBLE_EQ(TimeCurve({{10, 0.0, 0.5}, {20, 20.0, 1.0}}, 25).lane(), 2.0);  // the start of the first line
  EXPECT_DOUBLE_EQ(TimeCurve({{0, -5.0, 1.0}}, 5).lane(), 0.0);                    // no time is no rate
}

TEST(LinkCost, WithoutAGapItIsWhatTheBytesTakeAndTheProcessorHalfOfIt) {
  LinkCost link = rankwise_test::far_link();
  EXPECT_DOUBLE_EQ(link.gap(1000), 1103e-9);
  EXPECT_DOUBLE_EQ(link.overhead(), 277e-9);
  link.overhead_s.reset();
  EXPECT_DOUBLE_EQ(link.overhead(), 251.5e-9);
  link.exchange_gap.reset();
  EXPECT_DOUBLE_EQ(link.gap(1000), 911e-9);
  link.send = TimeCurve({{0, 1e-6, 0.0}});
  EXPECT_DOUBLE_EQ(link.gap(1000), 0.0);
}

TEST(LinkClass, AreNamedAndFound) {
  for (std::size_t i = 0; i < link_class_count; ++i) {
    const auto link = static_cast<LinkClass>(i);
    EXPECT_EQ(find_link_class(to_string(link)), link);
  }
  EXPECT_EQ(to_string(LinkClass::shared_cache), "shared-cache");
  EXPECT_EQ(find_link_class("nowhere"), std::nullopt);
}

TEST(Machine, InsideANodeTheNextClassStandsInFartherOnesFirst) {
  Machine machine = rankwise_test::machine();
  machine.links[0] = rankwise_test::near_link();
  EXPECT_EQ(machine.stand_in(LinkClass::same_core), LinkClass::same_core);
  EXPECT_EQ(machine.stand_in(LinkClass::shared_cache), LinkClass::same_socket);
  EXPECT_EQ(machine.stand_in(LinkClass::other_socket), LinkClass::same_socket);
  machine.links[near_class].reset();
  EXPECT_EQ(machine.stand_in(LinkClass::other_socket), LinkClass::same_core);
  EXPECT_EQ(machine.stand_in(LinkClass::other_node), LinkClass::other_node);
  machine.links[0].reset();
  EXPECT_EQ(machine.stand_in(LinkClass::same_core), std::nullopt);
  machine.links[3] = rankwise_test::near_link();
  EXPECT_EQ(machine.stand_in(LinkClass::same_core), LinkClass::other_socket);
  machine.links.back().reset();
  EXPECT_EQ(machine.stand_in(LinkClass::other_node), std::nullopt);
}

TEST(Machine, AResourceIsHeldForWhatItsRateMakesOfAMessage) {
  Machine machine = rankwise_test::machine();
  const auto held = [&](Shared shared, LinkClass link = LinkClass::same_socket) {
    return 1e9 * machine.hold_s(static_cast<std::size_t>(shared), link, 1000);
  };
  for (const Shared shared : {Shared::socket, Shared::sockets, Shared::memory, Shared::card_both}) EXPECT_EQ(held(shared), 0.0);
  machine.socket = Resource{20e9};
  machine.sockets = Resource{30e9};
  machine.memory = Resource{50e9};
  EXPECT_NEAR(held(Shared::socket), 1000 / 20.0, 1e-9);
  EXPECT_NEAR(held(Shared::sockets), 1000 / 30.0, 1e-9);
  EXPECT_NEAR(held(Shared::memory), 1000 / 50.0, 1e-9);
  machine.memory->bytes_per_s = 1e9;  // one message alone passes as fast as it does
  machine.socket->least_s = 77e-9;
  EXPECT_NEAR(held(Shared::memory), 109, 1e-9);
  EXPECT_NEAR(held(Shared::socket), 77, 1e-9);
  // What takes as long whatever its size holds nothing, but for the least.
  Machine flat = machine;
  flat.links[near_class]->send = TimeCurve({{0, 1e-6, 0.0}});
  EXPECT_EQ(flat.hold_s(static_cast<std::size_t>(Shared::memory), LinkClass::same_socket, 1000), 0.0);
  EXPECT_EQ(flat.hold_s(static_cast<std::size_t>(Shared::socket), LinkClass::same_socket, 1000), 77e-9);
  // A class that is not known takes what stands for it.
  EXPECT_NEAR(held(Shared::sockets, LinkClass::other_socket), 1000 / 30.0, 1e-9);
  machine.links[near_class].reset();
  EXPECT_EQ(held(Shared::socket), 0.0);
}

TEST(Machine, ACardOfUnknownRatePassesWhatOneMessageDoesOrABurst) {
  Machine machine = rankwise_test::machine();
  const auto held = [&](Shared shared, Index bytes) {
    return 1e9 * machine.hold_s(static_cast<std::size_t>(shared), LinkClass::other_node, bytes);
  };
  EXPECT_NEAR(held(Shared::card_out, 100), 91.1, 1e-9);
  EXPECT_NEAR(held(Shared::card_in, 900), 503, 1e-9);
  machine.links.back()->exchange_gap.reset();
  EXPECT_NEAR(held(Shared::card_in, 900), 819.9, 1e-9);
  machine.card = Resource{4e9};
  EXPECT_NEAR(held(Shared::card_out, 900), 225, 1e-9);
  EXPECT_EQ(held(Shared::card_both, 900), 0.0);
  machine.card->half_duplex = true;
  EXPECT_NEAR(held(Shared::card_both, 900), 225, 1e-9);
  machine.levels = {{2, 5e9}, {6, 8e9}};
  for (const auto& [resource, ns] : {std::pair{links_up(0), 180.0},
                                     {links_down(0), 180.0},
                                     {links_up(1), 112.5},
                                     {links_down(1), 112.5},
                                     {links_up(2), 0.0}}) {
    EXPECT_NEAR(1e9 * machine.hold_s(resource, LinkClass::other_node, 900), ns, 1e-9) << resource;
  }
}

TEST(Machine, NoMoreBytesPassACardThanInExchangesOfSeveralNodes) {
  Machine machine = rankwise_test::machine();
  machine.card = Resource{0.2e9, 0.0, false, {{1000, 0.9}, {3000, 0.5}}};
  const auto card = static_cast<std::size_t>(Shared::card_out);
  const auto held_us = [&](Index bytes) { return 1e6 * machine.hold_s(card, LinkClass::other_node, bytes); };
  EXPECT_NEAR(held_us(500), 500 / 180.0, 1e-9);
  EXPECT_NEAR(held_us(2000), 2000 / 140.0, 1e-9);
  EXPECT_NEAR(held_us(6000), 6000 / 100.0, 1e-9);
  // A network twice as fast keeps the shares.
  EXPECT_DOUBLE_EQ(machine.with_network(1.0, 2.0).card->rate(6000), 0.2e9);
}

TEST(Machine, NoMoreBytesPassACardThanWereMeasuredForIt) {
  // A lane of 417 MB/s, of the first bytes only: by the credit of a token bucket.
  Machine machine = rankwise_test::machine();
  machine.links.back()->send = TimeCurve({{0, 2e-6, 0.4e-9}, {1000, -1e-6, 3.4e-9}}, 5000);
  const auto held = [&](std::size_t resource, Index bytes) { return machine.hold(resource, LinkClass::other_node, bytes); };
  const auto card = static_cast<std::size_t>(Shared::card_in);
  machine.card = Resource{0.3e9, 2.5e-6};
  machine.levels = {{2, 0.25e9}};
  // T is 12.6 us, all of which it holds the lane.
  EXPECT_NEAR(held(card, 4000).time_s, 4000 / 0.3e9, 1e-15);
  EXPECT_NEAR(held(card, 4000).excess_s, 4000 / 0.3e9 - 0.999 * 12.6e-6, 1e-15);
  EXPECT_NEAR(held(links_up(0), 4000).time_s, 16e-6, 1e-15);
  EXPECT_NEAR(held(links_up(0), 4000).excess_s, 16e-6 - 0.999 * 12.6e-6, 1e-15);
  EXPECT_NEAR(held(card, 900).time_s, 3e-6, 1e-15);
  EXPECT_NEAR(held(card, 900).excess_s, 3e-6 - 0.36e-6, 1e-15);
  EXPECT_NEAR(held(card, 600).time_s, 2.5e-6, 1e-15);  // the least
  EXPECT_NEAR(held(card, 600).excess_s, 2e-6 - 0.24e-6, 1e-15);
  // A wider card passes what one message passes in its own time, and what a size that a lane passes slowly holds it for.
  machine.card = Resource{2e9};
  machine.links.back()->send = TimeCurve({{0, 1e-6, 4e-9}, {1000, 4e-6, 1e-9}});
  EXPECT_NEAR(held(card, 500).time_s, 1e-6, 1e-15);
  EXPECT_NEAR(held(card, 4000).time_s, 2e-6, 1e-15);
  EXPECT_EQ(held(card, 500).excess_s, 0.0);
}

TEST(Machine, FramesOfTcpTakeTheirHeadersThroughACard) {
  // 10 Mbit/s pass 1.25 MB/s of frames of 1000 B of data and 66 B of headers; 18 B of a message are the MPI's.
  Machine machine = rankwise_test::machine();
  machine.card = Resource{1.25e6 * 1000 / 1066};
  machine.card->segment_bytes = 1000;
  machine.levels = {{2, 1.25e6 * 1000 / 1066}};
  const auto held_us = [&](std::size_t resource, Index bytes) {
    return 1e6 * machine.hold_s(resource, LinkClass::other_node, bytes);
  };
  for (const std::size_t passed : {static_cast<std::size_t>(Shared::card_out), links_up(0)}) {
    EXPECT_NEAR(held_us(passed, 0), (18 + 66) / 1.25, 1e-9);
    EXPECT_NEAR(held_us(passed, 982), (1000 + 66) / 1.25, 1e-9);
    EXPECT_NEAR(held_us(passed, 983), (1001 + 2 * 66) / 1.25, 1e-9);
    EXPECT_NEAR(held_us(passed, 99'982), 100 * (1000 + 66) / 1.25, 1e-6);
  }
  machine = machine.alone();  // a simulator of links knows no frames
  EXPECT_NEAR(held_us(links_up(0), 1000), 1066 / 1.25, 1e-9);
}

TEST(Machine, OverTcpLinksMayHaveACredit) {
  // A bucket of 2000 B: a message that comes alone passes so much at once, and the rest at 1 MB/s.
  Machine machine = rankwise_test::machine();
  machine.links.back()->send = TimeCurve({{0, 1e-4, 0.0}, {2000, 1e-4 - 2e-3, 1e-6}, {8000, 1e-4 - 2e-3, 1e-6}}, 16000);
  const auto credit_s = [&](Index bytes) {
    return machine.hold(static_cast<std::size_t>(Shared::card_in), LinkClass::other_node, bytes).credit_s;
  };
  machine.card = Resource{1e6};
  EXPECT_EQ(credit_s(1000), 0.0);
  machine.card->segment_bytes = 1000;
  const double own_s = 0.999 * 6.1e-3;  // of a message of 8000 B, as it holds the lane
  EXPECT_NEAR(credit_s(1000), machine.card->passing_bytes(8000) / 1e6 - own_s, 1e-12);
  EXPECT_EQ(credit_s(16000), credit_s(1000));
  machine.card = Resource{2e6};  // a faster card is no bucket
  machine.card->segment_bytes = 1000;
  EXPECT_EQ(credit_s(1000), 0.0);
}

TEST(Machine, AloneEveryWayOfSendingIsAPlainSendWithoutGaps) {
  Machine machine = rankwise_test::machine();
  machine.links.back()->rendezvous_from_bytes = 4096;
  const Machine alone = machine.alone();
  const LinkCost& link = *alone.links.back();
  for (const TimeCurve* curve : {&link.send, &link.ssend, &link.exchange}) EXPECT_DOUBLE_EQ((*curve)(1000), 2320e-9);
  EXPECT_EQ(link.gap(1000), 0.0);
  EXPECT_EQ(link.overhead(), 0.0);
  EXPECT_EQ(link.acknowledgement_s, std::nullopt);
  EXPECT_EQ(link.rendezvous_from_bytes, 4096);
  EXPECT_DOUBLE_EQ(alone.links[near_class]->exchange(1000), 422e-9);
  EXPECT_NEAR(alone.card->bytes_per_s, 1e9 / 0.911, 1.0);
  machine.card = Resource{7e9};
  EXPECT_EQ(machine.alone().card->bytes_per_s, 7e9);
  machine.links.back().reset();
  machine.card.reset();
  EXPECT_FALSE(machine.alone().card);
}

TEST(Machine, TheQuickestTakesTheQuickestOfAnyLink) {
  Machine machine = rankwise_test::machine();
  machine.links.back()->exchange = TimeCurve({{0, 100e-9, 1e-9}});
  machine.links[near_class]->ssend = TimeCurve({{0, 300e-9, 0.1e-9}});
  const Machine quickest = machine.quickest({5000, 8, 100, 8});
  EXPECT_EQ(std::count_if(quickest.links.begin(), quickest.links.end(), [](const auto& link) { return link.has_value(); }), 1);
  const LinkCost& link = *quickest.links[near_class];
  EXPECT_DOUBLE_EQ(link.send(8), 108e-9);
  EXPECT_DOUBLE_EQ(link.ssend(100), 200e-9);
  EXPECT_DOUBLE_EQ(link.exchange(5000), 800e-9);
  EXPECT_EQ(link.gap(5000), 0.0);
  EXPECT_EQ(link.overhead(), 0.0);
  EXPECT_EQ(machine.quickest({}).links[near_class]->send(8), 0.0);
  machine.links.back()->send = TimeCurve({{0, -1.0, 0.0}});
  EXPECT_EQ(machine.quickest({8}).links[near_class]->send(8), 0.0);
}

TEST(Machine, RatesAndLevelsThatMakeNoSenseAreRefused) {
  const auto told = [](auto change) {
    Machine machine = rankwise_test::machine();
    for (auto* resource : {&machine.card, &machine.memory, &machine.socket, &machine.sockets}) *resource = Resource{1e9, 0.0};
    machine.levels = {{2, 1e9}, {2, 1e9}, {6, 2e9}};
    change(machine);
    return error_of([&] { machine.check(); });
  };
  const double infinite = std::numeric_limits<double>::infinity();
  const std::string rate = " is not above 0: give bytes a second";
  EXPECT_EQ(told([](Machine&) {}), "");
  EXPECT_EQ(told([](Machine& m) { m.card->bytes_per_s = 0; }), "the rate of the card" + rate);
  EXPECT_EQ(told([&](Machine& m) { m.memory->bytes_per_s = infinite; }), "the rate of the memory" + rate);
  EXPECT_EQ(told([](Machine& m) { m.socket->bytes_per_s = -1; }), "the rate of the socket" + rate);
  EXPECT_EQ(told([](Machine& m) { m.sockets->bytes_per_s = 0; }), "the rate of the link between sockets" + rate);
  const std::string messages = "the message rate of the card is not above 0: give messages a second";
  EXPECT_EQ(told([](Machine& m) { m.card->least_s = -1e-9; }), messages);
  EXPECT_EQ(told([&](Machine& m) { m.card->least_s = infinite; }), messages);
  const std::string grow = "the levels of switches do not grow: name the inner ones first";
  EXPECT_EQ(told([](Machine& m) { m.levels[0].nodes = 0; }), grow);
  EXPECT_EQ(told([](Machine& m) { m.levels[2].nodes = 1; }), grow);
  EXPECT_EQ(told([](Machine& m) { m.levels[1].up_bytes_per_s = 0; }), "the rate of the links up" + rate);
}

}  // namespace
}  // namespace rankwise
