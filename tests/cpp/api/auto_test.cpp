// What `auto` decides: the same as the core does from the same profile, alike on all ranks.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

#include "decide/contest.hpp"
#include "fixture.hpp"
#include "profile/profile.hpp"

namespace rankwise_test {
namespace {

// A profile with straight lines on all links: alpha and beta of a message, alpha of further messages in flight.
std::string profile(double alpha_s, double beta_s_per_byte, double gap_s) {
  const auto curve = [](double a, double b) {
    char text[1000];
    std::snprintf(text, sizeof text, R"("model": "hockney", "alpha_s": %g, "beta_s_per_byte": %g,
      "models": {"hockney": {"segments": [{"from_bytes": 0, "alpha_s": %g, "beta_s_per_byte": %g}]}},
      "table": [{"size_bytes": 0, "time_s": %g}, {"size_bytes": 1000, "time_s": %g}, {"size_bytes": 1000000, "time_s": %g}])",
                  a, b, a, b, a, a + 1000 * b, a + 1000000 * b);
    return std::string(text);
  };
  std::string links;
  for (const char* name : {"same-core", "same-socket", "other-socket", "other-node"}) {
    links += std::string(links.empty() ? "" : ",\n") + "\"" + name + "\": {" + curve(alpha_s, beta_s_per_byte) +
             ",\n \"variants\": {\"exchange\": {" + curve(alpha_s, beta_s_per_byte) + "}, \"exchange-gap\": {" +
             curve(gap_s, beta_s_per_byte) + "}}}";
  }
  return "{\"schema\": 1,\n\"links\": {\n" + links + "}}\n";
}

class Auto : public ::testing::Test {
 protected:
  Cart ring{{world_size()}, {1}};
  Cart cube{{world_size(), 1, 1}, {1, 1, 1}};

  void TearDown() override { unsetenv("RANKWISE_PROFILE"); }

  // Lets RANKWISE_PROFILE name a file with this text; a new one each time, for files are read once.
  std::string use(const std::string& text) {
    int number = 0;
    if (world_rank() == 0) number = ++files_;
    int pid = static_cast<int>(getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                       ("rankwise-auto-" + std::to_string(pid) + "-" + std::to_string(number) + ".json");
    if (world_rank() == 0) std::ofstream(path) << text;
    MPI_Barrier(MPI_COMM_WORLD);
    setenv("RANKWISE_PROFILE", path.c_str(), 1);
    return path;
  }

  static void remove(const std::string& path) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::filesystem::remove(path);
  }

  static std::string explained(const Cart& cart, const std::vector<int>& cutoff, const rankwise_exchange_options& o) {
    Plan plan(cart, cutoff, o);
    EXPECT_EQ(plan.result, RANKWISE_SUCCESS) << rankwise_last_error();
    std::string text(4000, '\0');
    rankwise_exchange_explain(plan.handle, text.data(), text.size(), nullptr);
    return text.substr(0, text.find('\n'));
  }

  // The same line on all ranks.
  static void expect_alike(const std::string& line) {
    std::string first = line;
    int length = static_cast<int>(line.size());
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ASSERT_EQ(length, static_cast<int>(line.size()));
    MPI_Bcast(first.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
    EXPECT_EQ(line, first);
  }

  static inline int files_ = 0;
};

TEST_F(Auto, IsTheDecisionOfTheCoreFromTheSameProfile) {
  std::set<std::string> chosen;
  for (const auto& [alpha_s, gap_s] : std::vector<std::pair<double, double>>{{1e-5, 1e-7}, {1e-6, 5e-6}, {1e-6, 0.9e-6}}) {
    const std::string text = profile(alpha_s, 1e-10, gap_s);
    const std::string path = use(text);
    const rankwise::Machine machine = rankwise::read_machine(text);
    for (const Cart* cart : {&ring, &cube}) {
      const auto ndim = cart->dims().size();
      for (const int k : {1, 2, 3}) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
          rankwise_exchange_options o = options(RANKWISE_ALGORITHM_AUTO);
          o.expected_block_bytes = bytes;
          const std::vector<int> cutoff(ndim, k);
          const std::string line = explained(*cart, cutoff, o);
          expect_alike(line);
          const rankwise::Question question{
              rankwise::Grid({cart->dims().begin(), cart->dims().end()}, std::vector<bool>(ndim, true)),
              cutoff,
              rankwise::Shell::full,
              {"direct", "comb", "shift", "shift-posted"},
              {},
              {}};
          const auto ranked = rankwise::Contest(question, rankwise::Placement::blocked(world_size(), world_size()))
                                  .ranked(static_cast<rankwise::Index>(bytes), machine);
          const std::string expected = to_string(ranked.front().candidate);
          EXPECT_NE(line.find(": " + expected + "; "), std::string::npos) << expected << " in " << line;
          EXPECT_NE(line.find(rankwise::reason(ranked)), std::string::npos) << line;
          EXPECT_NE(line.find(path), std::string::npos) << line;
          chosen.insert(expected);
        }
      }
    }
    remove(path);
  }
  if (world_size() > 1) {
    EXPECT_GE(chosen.size(), 2U);  // the profile makes a difference
  }
}

TEST_F(Auto, StaysWithinTheSendModeAskedFor) {
  const std::string line = explained(ring, {2}, options(RANKWISE_ALGORITHM_AUTO, RANKWISE_SEND_SSEND));
  EXPECT_NE(line.find(", ssend; "), std::string::npos) << line;
  EXPECT_NE(line.find("the default machine"), std::string::npos) << line;
}

TEST_F(Auto, RefusesAProfileThatIsNoneAlikeOnAllRanks) {
  const auto refused = [&](const std::string& text, const std::string& words) {
    const std::string path = use(text);
    Plan plan(ring, {1}, options(RANKWISE_ALGORITHM_AUTO));
    EXPECT_EQ(plan.result, RANKWISE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(rankwise_last_error()).find(words), std::string::npos) << rankwise_last_error();
    // Who leaves nothing to decide needs no profile.
    EXPECT_EQ(Plan(ring, {1}, options(RANKWISE_ALGORITHM_SHIFT)).result, RANKWISE_SUCCESS);
    remove(path);
  };
  refused("{\"schema\": 1,\n", "line 2: ");
  refused("{\"schema\": 3}", "newer schema");
  refused("{\"links\": {}}", "names no schema");
  std::string wrong = profile(1e-6, 1e-9, 1e-7);
  wrong.replace(wrong.find("\"time_s\": 1e-06"), 15, "\"time_s\": -1e-6");
  refused(wrong, "line 5: a time is not positive");
  wrong.replace(wrong.find("-1e-6"), 5, "NaN");
  refused(wrong, "line 5: 'NaN' is not a finite number");
  setenv("RANKWISE_PROFILE", "/nowhere/machine.json", 1);
  Plan plan(ring, {1}, options(RANKWISE_ALGORITHM_AUTO));
  EXPECT_EQ(plan.result, RANKWISE_ERROR_ARGUMENT);
  EXPECT_NE(std::string(rankwise_last_error()).find("rankwise measure"), std::string::npos) << rankwise_last_error();
}

TEST_F(Auto, RefusesAProfileWithoutTheLinkThatIsNeeded) {
  if (world_size() == 1) GTEST_SKIP() << "one rank sends nothing";
  std::string text = profile(1e-6, 1e-9, 1e-7);
  text.erase(text.find("\"same-core\""), text.find("\"other-node\"") - text.find("\"same-core\""));
  const std::string path = use(text);
  Plan plan(ring, {1}, options(RANKWISE_ALGORITHM_AUTO));
  EXPECT_EQ(plan.result, RANKWISE_ERROR_ARGUMENT);
  EXPECT_NE(std::string(rankwise_last_error()).find("no link class same-socket"), std::string::npos) << rankwise_last_error();
  remove(path);
}

}  // namespace
}  // namespace rankwise_test
