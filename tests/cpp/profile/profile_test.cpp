#include "profile/profile.hpp"

#include <gtest/gtest.h>

#include <random>

#include "profile/json.hpp"

namespace rankwise {
namespace {

std::string curve(const std::string& model, const std::string& segments) {
  return R"("model": ")" + model + R"(", "alpha_s": 2e-6, "beta_s_per_byte": 1e-9,
    "models": {"hockney": {"segments": [{"from_bytes": 0, "alpha_s": 2e-6, "beta_s_per_byte": 1e-9}]},
    "piecewise": {"segments": )" +
         segments + R"(}},
    "table": [{"size_bytes": 0, "time_s": 2e-6}, {"size_bytes": 1, "time_s": 2e-6}, {"size_bytes": 9, "time_s": 2e-6}])";
}

const std::string two_lines = R"([{"from_bytes": 0, "alpha_s": 1e-6, "beta_s_per_byte": 0},
    {"from_bytes": 100, "alpha_s": 3e-6, "beta_s_per_byte": 1e-9}])";

std::string profile(const std::string& link, const std::string& more = "") {
  return R"({"schema": 1, "links": {"other-node": {)" + link + more + "}}}";
}

const LinkCost& other_node(const Machine& machine) {
  return machine.links[static_cast<std::size_t>(LinkClass::other_node)].value();
}

TEST(Profile, TakesTheModelThatWasChosenOrTheOneAskedFor) {
  const std::string text = profile(curve("piecewise", two_lines));
  EXPECT_DOUBLE_EQ(other_node(read_machine(text)).send(99), 1e-6);
  EXPECT_DOUBLE_EQ(other_node(read_machine(text)).send(100), 3.1e-6);
  EXPECT_DOUBLE_EQ(other_node(read_machine(text, {"hockney", false})).send(100), 2.1e-6);
}

TEST(Profile, PutsWhatIsKnownInThePlaceOfWaysThatWereNotMeasured) {
  const Machine machine = read_machine(profile(curve("piecewise", two_lines)));
  const LinkCost& link = other_node(machine);
  EXPECT_DOUBLE_EQ(link.ssend(100), 3.1e-6);
  EXPECT_DOUBLE_EQ(link.exchange(100), 3.1e-6);
  // The bytes at the rate of one message: 100 B in 1 us, up to where the second line starts.
  EXPECT_DOUBLE_EQ(link.gap(50), 0.5e-6);
  EXPECT_FALSE(link.exchange_gap);
  EXPECT_FALSE(link.acknowledgement_s);
  EXPECT_FALSE(link.overhead_s);
  EXPECT_FALSE(machine.links[0]);
}

TEST(Profile, FollowsPlainSendsBeyondTheLastRowOfAWay) {
  // A gap known to 4 B, where its slope of noise would make 3e-4 s/B.
  const std::string gap = R"(, "variants": {"exchange-gap": {"model": "pchip", "models": {"pchip": {"segments": [
    {"from_bytes": 0, "alpha_s": 4e-6, "beta_s_per_byte": 0}, {"from_bytes": 4, "alpha_s": 2.8e-6, "beta_s_per_byte": 3e-7}]}},
    "table": [{"size_bytes": 0, "time_s": 4e-6}, {"size_bytes": 1, "time_s": 4e-6}, {"size_bytes": 4, "time_s": 4e-6}]}})";
  std::string plain = curve("piecewise", two_lines);
  plain.replace(plain.find(R"("size_bytes": 9)"), 15, R"("size_bytes": 9000000)");
  const LinkCost link = other_node(read_machine(profile(plain, gap)));
  EXPECT_DOUBLE_EQ(link.gap(3), 4e-6);
  for (const Index bytes : {4, 99, 100, 1000000}) EXPECT_DOUBLE_EQ(link.gap(bytes), 4 * link.send(bytes)) << bytes;
  // Where plain sends are known no farther, a way's own line goes on.
  const LinkCost own = other_node(read_machine(
      profile(curve("piecewise", two_lines), R"(, "variants": {"ssend": {)" + curve("hockney", two_lines) + "}}")));
  EXPECT_DOUBLE_EQ(own.ssend(1000), 3e-6);
}

TEST(Profile, TakesTheOverheadThatWasMeasuredBeforeLogGPs) {
  std::string loggp = curve("hockney", two_lines);
  loggp.insert(loggp.find("\"piecewise\""), R"("loggp": {"parameters": {"overhead_s": {"value": 3e-7}}, "segments": []}, )");
  EXPECT_DOUBLE_EQ(other_node(read_machine(profile(loggp))).overhead(), 3e-7);
  const std::string measured = R"(, "parameters": {"send_overhead_s": {"value": 2e-7}, "receive_overhead_s": {"value": 6e-7}})";
  EXPECT_DOUBLE_EQ(other_node(read_machine(profile(loggp, measured))).overhead(), 4e-7);
}

TEST(Profile, KnowsFromWhichSizeOnPlainSendsWait) {
  const std::string ways = R"(, "variants": {"ssend": {)" + curve("hockney", two_lines) + "}}";
  EXPECT_FALSE(other_node(read_machine(profile(curve("hockney", two_lines), ways))).rendezvous_from_bytes);
  std::string loggp = curve("hockney", two_lines);
  loggp.insert(loggp.find("\"piecewise\""),
               R"("loggp": {"parameters": {"rendezvous_from_bytes": {"value": 8192}}, "segments": []}, )");
  EXPECT_EQ(other_node(read_machine(profile(loggp, ways))).rendezvous_from_bytes.value(), 8192);
  const std::string seen = R"(, "parameters": {"send_returns_up_to_bytes": {"value": 8112.0}})";
  EXPECT_EQ(other_node(read_machine(profile(loggp, ways + seen))).rendezvous_from_bytes.value(), 8113);
  // None of those that were tried waits.
  const std::string none =
      R"(, "parameters": {"send_returns_up_to_bytes": {"value": 8112.0}, "limits_tried_up_to_bytes": {"value": 8112.0}})";
  EXPECT_GT(other_node(read_machine(profile(loggp, ways + none))).rendezvous_from_bytes.value(), Index{1} << 40);
}

TEST(Profile, ReadsStepsThatWereTimedAsLinesBetweenTheirSizes) {
  const std::string steps = R"(, "steps": {"isend": {"start-1": [[8, 1e-6], [16, 3e-6]], "start-2": [[8, 1e-6]],
      "start-4": [[8, 1e-6]], "later-1": [[8, 1e-6]], "later-2": [[8, 1e-6]], "collective": [[8, 2e-6]]}})";
  const Machine machine = read_machine(profile(curve("piecewise", two_lines), steps));
  const StepCosts& timed = other_node(machine).steps[static_cast<std::size_t>(SendMode::isend)].value();
  EXPECT_DOUBLE_EQ(timed.start_1(8), 1e-6);
  EXPECT_DOUBLE_EQ(timed.start_1(12), 2e-6);
  EXPECT_DOUBLE_EQ(timed.start_1(16), 3e-6);
  EXPECT_DOUBLE_EQ(timed.start_1(20), 4e-6);
  EXPECT_DOUBLE_EQ(timed.start_2(100), 1e-6);
  EXPECT_DOUBLE_EQ(timed.collective.value()(8), 2e-6);
  EXPECT_FALSE(timed.chain);
  EXPECT_FALSE(other_node(machine).steps[static_cast<std::size_t>(SendMode::ssend)]);
  const std::string unordered = R"(, "steps": {"isend": {"start-1": [[8, 1e-6], [8, 3e-6]]}})";
  EXPECT_THROW(static_cast<void>(read_machine(profile(curve("piecewise", two_lines), unordered))), std::invalid_argument);
  const std::string unknown = R"(, "steps": {"pigeon": {}})";
  EXPECT_THROW(static_cast<void>(read_machine(profile(curve("piecewise", two_lines), unknown))), std::invalid_argument);
}

TEST(Profile, NoOverheadIsMoreThanHalfOfABurstsGap) {
  const std::string burst = R"(, "variants": {"exchange-gap": {)" + curve("hockney", two_lines) + "}}";
  const std::string measured = R"(, "parameters": {"send_overhead_s": {"value": 2e-6}, "receive_overhead_s": {"value": 6e-6}})";
  EXPECT_DOUBLE_EQ(other_node(read_machine(profile(curve("hockney", two_lines), burst + measured))).overhead(), 1e-6);
}

TEST(Profile, KnowsHowLongAnAcknowledgementTakesWhereSynchronousSendsWereMeasured) {
  const std::string ways = R"(, "variants": {"ssend": {)" + curve("hockney", two_lines) + "}}";
  EXPECT_DOUBLE_EQ(other_node(read_machine(profile(curve("piecewise", two_lines), ways))).acknowledgement_s.value(), 1e-6);
}

TEST(Profile, SlowsEveryWayDownAsAPlainSendWasBesideTraffic) {
  const std::string loaded = R"(, "loaded": {"alpha_s": 4e-6, "beta_s_per_byte": 5e-9, "pairs": 2})";
  const Machine machine = read_machine(profile(curve("hockney", two_lines), loaded), {"", true});
  EXPECT_DOUBLE_EQ(other_node(machine).send(1000), 4e-6 + 5e-6);
  EXPECT_THROW(static_cast<void>(read_machine(profile(curve("hockney", two_lines)), {"", true})), std::invalid_argument);
}

TEST(Profile, KnowsWhatRanksShare) {
  const std::string shared = R"({"schema": 2, "shared": {
    "card": {"bytes_per_s": 3e9, "messages_per_s": 4e6, "both_ways_bytes_per_s": 3.5e9}, "memory": {"bytes_per_s": 5e10},
    "socket": {"bytes_per_s": 2e10, "messages_per_s": 2e6, "both_ways_bytes_per_s": 3e10, "pairs": [[1, 8, 2e6], [1, 64000, 2e10]]},
    "levels": [{"nodes": 4, "up_bytes_per_s": 6e9}]}, "links": {"other-node": {)" +
                             curve("hockney", two_lines) + "}}}";
  const Machine machine = read_machine(shared);
  EXPECT_DOUBLE_EQ(machine.card->bytes_per_s, 3e9);
  EXPECT_DOUBLE_EQ(machine.card->least_s, 0.25e-6);
  EXPECT_TRUE(machine.card->half_duplex);
  EXPECT_DOUBLE_EQ(machine.memory->bytes_per_s, 5e10);
  EXPECT_FALSE(machine.memory->half_duplex);
  EXPECT_DOUBLE_EQ(machine.socket->bytes_per_s, 3e10);  // a memory has no direction
  EXPECT_FALSE(machine.socket->half_duplex);
  EXPECT_DOUBLE_EQ(machine.socket->least_s, 0);  // one pair's messages say nothing of what pairs share
  EXPECT_FALSE(machine.sockets);
  EXPECT_EQ(machine.levels.front().nodes, 4);
  EXPECT_TRUE(machine.card->exchange_shares.empty());
  // Both ways share what it sends: 1.2 and 1.35 GB/s each way are shares of 0.8 and 0.9; of one size the slowest counts.
  std::string rings = shared;
  rings.replace(rings.find(R"("messages_per_s": 4e6)"), 0,
                R"("exchange": [[4, 8, 30000, 1.35e9], [4, 2, 100000, 1.2e9], [4, 8, 100000, 1.3e9], [4, 2, 9, 9e9]], )");
  const Resource card = read_machine(rings).card.value();
  ASSERT_EQ(card.exchange_shares.size(), 3U);
  EXPECT_DOUBLE_EQ(card.rate(0), 3e9);
  EXPECT_DOUBLE_EQ(card.rate(30000), 2.7e9);
  EXPECT_DOUBLE_EQ(card.rate(65000), 2.55e9);
  EXPECT_DOUBLE_EQ(card.rate(10000000), 2.4e9);
  // Over TCP the headers of messages pass, too: they take more of the rate than their bytes say, the smaller the more.
  std::string framed = rings;
  framed.replace(framed.find(R"("shared")"), 0, R"("machine": {"tcp": {"cubic": 8948, "reno": 1448}}, )");
  const Resource over_tcp = read_machine(framed).card.value();
  EXPECT_EQ(card.segment_bytes, 0);
  EXPECT_EQ(over_tcp.segment_bytes, 1448);
  EXPECT_NEAR(over_tcp.rate(30000) / card.rate(30000), over_tcp.passing_bytes(30000) / 30000, 1e-12);
  EXPECT_EQ(over_tcp.rate(9), over_tcp.bytes_per_s);
  // Up to the limit of sends that wait for nobody it is the rate of the smaller size, from there on of the larger one.
  std::string limited = rings;
  limited.replace(limited.find(R"("other-node": {)"), 15,
                  R"("other-node": {"parameters": {"send_returns_up_to_bytes": {"value": 65535}}, "variants": {"ssend": {)" +
                      curve("hockney", two_lines) + "}}, ");
  const Machine leaping = read_machine(limited);
  EXPECT_DOUBLE_EQ(leaping.card->rate(65535), 2.7e9);
  EXPECT_DOUBLE_EQ(leaping.card->rate(65536), 2.4e9);
  const Machine covered = leaping.with_handshakes_covered().value();
  EXPECT_DOUBLE_EQ(covered.card->rate(30000), 3e9 * std::sqrt(0.9 * 1.0));
  EXPECT_DOUBLE_EQ(covered.card->rate(100000), 3e9 * std::sqrt(0.8 * 1.0));
  EXPECT_FALSE(read_machine(shared).with_handshakes_covered());
  std::string short_row = rings;
  short_row.replace(short_row.find("[4, 2, 9, 9e9]"), 14, "[4, 2, 9]");
  EXPECT_THROW(static_cast<void>(read_machine(short_row)), std::invalid_argument);
  std::string stopped = shared;
  stopped.replace(stopped.find("5e10"), 4, "0");
  EXPECT_THROW(static_cast<void>(read_machine(stopped)), std::invalid_argument);
}

TEST(Profile, FindsWhatANodeInjectsInEitherOldPlace) {
  const std::string beside = R"(, "parameters": {"injection_bytes_per_s": {"value": 7e9}})";
  EXPECT_DOUBLE_EQ(read_machine(profile(curve("hockney", two_lines), beside)).card->bytes_per_s, 7e9);
  std::string fitted = curve("hockney", two_lines);
  fitted.insert(fitted.find("\"piecewise\""),
                R"("max-rate": {"parameters": {"injection_bytes_per_s": {"value": 8e9}}, "segments": []}, )");
  EXPECT_DOUBLE_EQ(read_machine(profile(fitted)).card->bytes_per_s, 8e9);
}

TEST(Profile, RefusesWhatIsWrongWithItsLine) {
  const auto refused = [](const std::string& text, const std::string& words) {
    try {
      static_cast<void>(read_machine(text));
      FAIL() << "not refused: " << words;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const std::string good = profile(curve("hockney", two_lines));
  const auto changed = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  refused("", "line 1: '' is not a finite number");
  refused(good + "x", "something follows");
  refused(changed("\"schema\": 1", "\"schema\": 7"), "newer schema");
  refused(changed("\"schema\": 1", "\"skema\": 1"), "names no schema");
  refused(changed("other-node", "moon"), "'moon' is not a link class");
  refused(changed("\"time_s\": 2e-6", "\"time_s\": 0"), "line 5: a time is not positive");
  refused(changed("\"time_s\": 2e-6", "\"time_s\": NaN"), "line 5: 'NaN' is not a finite number");
  refused(changed("\"time_s\": 2e-6", "\"time_s\": 1e999"), "line 5: '1e999' is not a finite number");
  refused(changed("\"time_s\": 2e-6", "\"time_s\": \"2 us\""), "line 5: a number is expected");
  refused(changed("{\"size_bytes\": 9, \"time_s\": 2e-6}", "null"), "an object is expected");
  refused(changed(", {\"size_bytes\": 9, \"time_s\": 2e-6}", ""), "fewer than three sizes");
  refused(changed("\"size_bytes\": 9", "\"size_bytes\": 1"), "not in order");
  refused(changed("\"model\": \"hockney\"", "\"model\": \"loggp\""), "no model 'loggp': choose one of hockney, piecewise");
  std::string negative = two_lines;
  negative.replace(negative.find("1e-6"), 4, "-1e-6");
  refused(profile(curve("piecewise", negative)), "a time is negative");
  refused(changed("\"table\"", "\"tables\""), "the key 'table' is missing");
}

TEST(Json, ReadsWhatRfc8259Allows) {
  const Json value = Json::parse(" {\"a\\u00e9\\n\": [1, -2.5e3, true, null, \"\\\"\"], \"b\": {}}\n");
  EXPECT_EQ(value.members()[0].first, "a\u00e9\n");
  EXPECT_EQ(value.members()[0].second.items().size(), 5U);
  EXPECT_DOUBLE_EQ(value.members()[0].second.items()[1].number(), -2500.0);
  EXPECT_EQ(value.members()[0].second.items()[4].string(), "\"");
  EXPECT_TRUE(value.at("b").members().empty());
  for (const char* text : {"[1,]", "{\"a\" 1}", "[1 2]", "\"open", "{a: 1}", "[", "+1", "tru", "\"\\x\"", "\"\\u12\""}) {
    EXPECT_THROW(static_cast<void>(Json::parse(text)), std::invalid_argument) << text;
  }
  EXPECT_THROW(static_cast<void>(Json::parse(std::string(100000, '['))), std::invalid_argument);
}

TEST(Json, NeverDoesWorseThanRefusing) {
  std::mt19937 random(7);
  const std::string good = profile(curve("piecewise", two_lines));
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = "{}[]\",:\\0e-n \n"[random() % 14];
    text.resize(random() % 4 == 0 ? random() % text.size() : text.size());
    try {
      const Machine machine = read_machine(text);
      for (const auto& link : machine.links) {
        if (!link) continue;
        EXPECT_GE(link->send(0), 0.0);
      }
    } catch (const std::invalid_argument&) {
    }
  }
}

}  // namespace
}  // namespace rankwise
