// The words in which a choice is given, word by word.
#include <gtest/gtest.h>

#include <cmath>

#include "decide/contest.hpp"

namespace rankwise {
namespace {

// direct: 26 messages at once in one step.
Ranked direct(double time_s, double empty_s) {
  return {{"direct", SendMode::isend, 1}, time_s, 0.9999 * time_s, 1.0001 * time_s, empty_s, 26, 104'000, 1, {}};
}
Ranked shift(double time_s, double empty_s) {
  return {{"shift", SendMode::isend, 1}, time_s, 0.9999 * time_s, 1.0001 * time_s, empty_s, 6, 104'000, 3, {}};
}

TEST(Reason, TheLatencyOfFewerMessagesDecides) {
  EXPECT_EQ(reason({shift(40e-6, 10e-6), direct(60e-6, 32e-6)}),
            "shift, isend takes 40 us; direct, isend would take 60 us, 1.5 times as long; the latency of messages decides: "
            "6 messages a rank instead of 26 take 22 us less, while the same 104 kB in 3 steps instead of 1 take 2 us more");
  // A part of less than a twentieth of the difference is not told.
  EXPECT_EQ(reason({shift(40e-6, 10e-6), direct(60e-6, 30.9e-6)}),
            "shift, isend takes 40 us; direct, isend would take 60 us, 1.5 times as long; the latency of messages decides: "
            "6 messages a rank instead of 26 take 20.9 us less");
}

TEST(Reason, TheBytesDecide) {
  Ranked longer = shift(600e-6, 10e-6);
  longer.bytes = 312'500;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), longer}),
            "direct, isend takes 100 us; shift, isend would take 600 us, 6 times as long; the bytes decide: 104 kB instead of "
            "312 kB take 522 us less");
  longer.time_s = 150e-6;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), longer}),
            "direct, isend takes 100 us; shift, isend would take 150 us, 1.5 times as long; the bytes decide: 104 kB "
            "instead of 312 kB take 72 us less, while 26 messages a rank instead of 6 take 22 us more");
}

TEST(Reason, FewerMessagesMayDecideTheBytesToo) {
  Ranked more = direct(100e-6, 40e-6);
  more.messages = 2;
  Ranked less = shift(130e-6, 60e-6);
  EXPECT_EQ(reason({more, less}),
            "direct, isend takes 100 us; shift, isend would take 130 us, 1.3 times as long; the latency of messages decides: "
            "2 messages a rank instead of 6 take 20 us less, while the same 104 kB in 2 messages instead of 6 take 10 us less");
}

TEST(Reason, ABlockingRivalGoesOneByOne) {
  Ranked one_by_one = direct(500e-6, 400e-6);
  one_by_one.candidate.mode = SendMode::ssend;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), one_by_one}),
            "direct, isend takes 100 us; sent by ssend it would take 500 us, one message at a time");
  EXPECT_EQ(reason({one_by_one, direct(600e-6, 432e-6)}),
            "direct, ssend takes 500 us; sent by isend it would take 600 us, with all messages of a step in flight at once");
  Ranked shifted = shift(500e-6, 400e-6);
  shifted.candidate.mode = SendMode::send;
  shifted.messages = 26;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), shifted}),
            "direct, isend takes 100 us; shift, send would take 500 us, 5 times as long; the latency of messages decides: "
            "messages in flight at once, not one by one, take 368 us less, while the same 104 kB in flight at once, not one "
            "by one, take 32 us less");
  EXPECT_EQ(reason({shifted, direct(900e-6, 432e-6)}),
            "shift, send takes 500 us; direct, isend would take 900 us, 1.8 times as long; the bytes decide: the same 104 kB "
            "by another way take 368 us less, while the way that its messages go takes 32 us less");
  EXPECT_EQ(reason({shifted, direct(900e-6, 332e-6)}),
            "shift, send takes 500 us; direct, isend would take 900 us, 1.8 times as long; the bytes decide: the same 104 kB "
            "by another way take 468 us less, while messages one by one, not in flight at once, take 68 us more");
}

TEST(Reason, WhatIsSharedTakesALargePart) {
  Ranked busy = direct(100e-6, 32e-6);
  const std::array<const char*, 8> parts{"a socket's memory passes",    "the link between sockets passes",
                                         "a node's memory passes",      "a node's card sends",
                                         "a node's card receives",      "a node's card sends and receives",
                                         "links between switches pass", "links between switches pass"};
  for (std::size_t resource = 0; resource < parts.size(); ++resource) {
    busy.busiest = {resource, 0, 42e-6, 1.5e6};
    EXPECT_EQ(reason({busy}), std::string("direct, isend takes 100 us, 42 % of it while ") + parts[resource] +
                                  " 1.5 MB; nothing else was asked for");
  }
  busy.busiest.held_s = 30e-6;
  EXPECT_NE(reason({busy}).find("30 % of it"), std::string::npos);
  busy.busiest.held_s = 29e-6;
  EXPECT_EQ(reason({busy}), "direct, isend takes 100 us; nothing else was asked for");
  busy.busiest.held_s = 101e-6;
  EXPECT_NE(reason({busy}).find("100 % of it"), std::string::npos);
}

TEST(Reason, FiguresHaveThreeDigits) {
  const auto told = [](double time_s) {
    const std::string text = reason({direct(time_s, 0)});
    return text.substr(0, text.find(';')).substr(std::string("direct, isend takes ").size());
  };
  EXPECT_EQ(told(1.23456e-9), "1.23 ns");
  EXPECT_EQ(told(999.4e-9), "999 ns");
  EXPECT_EQ(told(999.6e-9), "1 us");
  EXPECT_EQ(told(999.5e-6), "1 ms");
  EXPECT_EQ(told(12.345), "12.3 s");
  EXPECT_EQ(told(1234.5), "1234 s");
}

TEST(Reason, OfWhatCannotBeToldApartNoDifferenceIsTold) {
  const std::vector<Ranked> ranked{shift(40e-6, 10e-6), direct(60e-6, 32e-6)};
  const std::string start = "shift, isend takes 40 us; direct, isend would take 60 us, ";
  const std::string untold = start + "which cannot be told apart with this profile";
  EXPECT_EQ(reason(ranked, {{30e-6, 50e-6}, {50e-6, 70e-6}}), untold);
  EXPECT_EQ(reason(ranked, {{50e-6, 70e-6}, {30e-6, 50e-6}}), untold);
  EXPECT_EQ(reason(ranked, {{30e-6, 49e-6}, {50e-6, 70e-6}}).rfind(start + "1.5 times as long", 0), 0U);
  EXPECT_EQ(reason(ranked, {{51e-6, 70e-6}, {30e-6, 50e-6}}).rfind(start + "1.5 times as long", 0), 0U);
  EXPECT_THROW((void)reason(ranked, {{0.0, 1.0}}), std::invalid_argument);
  EXPECT_EQ(reason({}), "");
}

TEST(Reason, OneMessageTakesAndALittleLongerIsNoNumber) {
  Ranked one = shift(40e-6, 10e-6);
  one.messages = 1;
  EXPECT_EQ(reason({one, direct(40.15e-6, 10.15e-6)}),
            "shift, isend takes 40 us; direct, isend would take 40.1 us, a little longer; the latency of messages decides: "
            "1 message a rank instead of 26 takes 150 ns less");
}

TEST(Reason, EqualsTakeAsLong) {
  EXPECT_EQ(reason({direct(40e-6, 10e-6), shift(40e-6, 10e-6)}), "direct, isend takes 40 us; shift, isend takes as long");
  Ranked vague = shift(40e-6, 10e-6);
  vague.low_s = 1e-6;
  EXPECT_EQ(reason({direct(40e-6, 10e-6), vague}), "direct, isend takes 40 us; shift, isend takes as long");
  vague.time_s = std::nextafter(40e-6, 1.0);
  EXPECT_EQ(reason({direct(40e-6, 10e-6), vague}), "direct, isend takes 40 us; shift, isend takes as long");
  // One that takes longer is told of first.
  Ranked comb = shift(41e-6, 11e-6);
  comb.candidate.algorithm = "comb";
  EXPECT_EQ(reason({direct(40e-6, 10e-6), shift(40e-6, 10e-6), comb}),
            "direct, isend takes 40 us; comb, isend would take 41 us, 1.02 times as long; the latency of messages decides: "
            "messages in 1 step instead of 3 take 1 us less");
  EXPECT_EQ(reason({direct(40e-6, 10e-6), direct(40.1e-6, 10e-6)}), "direct, isend takes 40 us");
}

TEST(Reason, TeamsOfAnotherSizeAreRivalsWhereThereIsNoOtherAlgorithm) {
  const auto team = [](Index c, double time_s) {
    return Ranked{{"team-shift", SendMode::isend, c}, time_s, time_s, time_s, 10e-6, 8, 96'000, 5, {}};
  };
  EXPECT_EQ(reason({team(4, 40e-6), team(2, 80e-6)}),
            "team-shift c=4, isend takes 40 us; team-shift c=2, isend would take 80 us, 2 times as long; the bytes decide: "
            "the same 96 kB by another way take 40 us less");
  EXPECT_EQ(reason({team(4, 40e-6), team(2, 80e-6), direct(90e-6, 32e-6)}),
            "team-shift c=4, isend takes 40 us; direct, isend would take 90 us, 2.25 times as long; the bytes decide: 96 kB "
            "instead of 104 kB take 28 us less, while 8 messages a rank instead of 26 take 22 us less");
}

TEST(Reason, TheOtherWayOfSendingIsToldOf) {
  Ranked blocking = direct(500e-6, 400e-6);
  blocking.candidate.mode = SendMode::ssend;
  EXPECT_EQ(reason({direct(100e-6, 32e-6), shift(200e-6, 132e-6), blocking}),
            "direct, isend takes 100 us; shift, isend would take 200 us, 2 times as long; the latency of messages decides: "
            "messages in 1 step instead of 3 take 100 us less; sent by ssend it would take 500 us, one message at a time");
  EXPECT_EQ(reason({blocking, shift(700e-6, 132e-6), direct(900e-6, 32e-6)}),
            "direct, ssend takes 500 us; shift, isend would take 700 us, 1.4 times as long; the bytes decide: the same 104 "
            "kB by another way take 468 us less, while 26 messages a rank instead of 6 take 268 us more; sent by isend it "
            "would take 900 us, with all messages of a step in flight at once");
  EXPECT_EQ(
      reason({direct(100e-6, 32e-6), shift(200e-6, 132e-6), blocking}, {{90e-6, 400e-6}, {500e-6, 600e-6}, {400e-6, 500e-6}}),
      "direct, isend takes 100 us; shift, isend would take 200 us, 2 times as long; the latency of messages decides: "
      "messages in 1 step instead of 3 take 100 us less; sent by ssend it would take 500 us, which cannot be told apart "
      "with this profile");
}

}  // namespace
}  // namespace rankwise
