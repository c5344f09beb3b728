#include "grid/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

namespace rankwise {
namespace {

std::set<Coords> offsets(std::string_view text, int ndim) {
  const Stencil stencil = parse_stencil(text, ndim);
  EXPECT_EQ(stencil.ndim(), ndim);
  return {stencil.offsets().begin(), stencil.offsets().end()};
}

std::string complaint(std::string_view text, int ndim) {
  try {
    parse_stencil(text, ndim);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Stencil, WeightsFollowAStar) {
  const Stencil stencil = parse_stencil("1,0*8; -1,0 * 8;0,2", 2);
  EXPECT_EQ(stencil.weights(), (std::vector<Index>{8, 8, 1}));
  EXPECT_EQ(stencil.total_weight(), 17);
  EXPECT_EQ(parse_stencil("component", 3).total_weight(), 4);
  for (const char* text : {"1,0*0", "1,0*-2", "1,0*2097152", "1,0*x", "1,0*", "1*2*3", "*"}) {
    EXPECT_NE(complaint(text, 2), "") << text;
  }
  EXPECT_THROW(Stencil(1, {{1}, {-1}}, {1}), std::invalid_argument);
}

TEST(Stencil, NamesMeanWhatThePaperSays) {
  // hunold2020, section II (a) to (c).
  EXPECT_EQ(offsets("nearest-neighbor", 2), (std::set<Coords>{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}));
  EXPECT_EQ(offsets("component", 2), (std::set<Coords>{{1, 0}, {-1, 0}}));
  EXPECT_EQ(offsets("component", 3), (std::set<Coords>{{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}}));
  EXPECT_EQ(offsets("nearest-neighbor-with-hops", 2),
            (std::set<Coords>{{1, 0}, {-1, 0}, {2, 0}, {-2, 0}, {3, 0}, {-3, 0}, {0, 1}, {0, -1}}));
  EXPECT_EQ(offsets("nearest-neighbor-with-hops", 1), (std::set<Coords>{{1}, {-1}, {2}, {-2}, {3}, {-3}}));
  for (int ndim = 1; ndim <= 6; ++ndim) {
    const auto axes = static_cast<std::size_t>(ndim);
    EXPECT_EQ(offsets("nearest-neighbor", ndim).size(), 2 * axes);
    EXPECT_EQ(offsets("nearest-neighbor-with-hops", ndim).size(), 2 * axes + 4);
  }
}

TEST(Stencil, MooreHoldsTheWholeNeighbourhood) {
  EXPECT_EQ(offsets("moore:1", 1), (std::set<Coords>{{1}, {-1}}));
  EXPECT_EQ(offsets("moore:1", 2).size(), 8U);
  EXPECT_EQ(offsets("moore:2", 3).size(), 124U);
  for (const Coords& offset : offsets("moore:2", 3)) {
    EXPECT_TRUE(std::ranges::all_of(offset, [](Index component) { return component >= -2 && component <= 2; }));
  }
}

TEST(Stencil, ReadsOffsets) {
  EXPECT_EQ(offsets("1,0;-1,0;0,2", 2), (std::set<Coords>{{1, 0}, {-1, 0}, {0, 2}}));
  EXPECT_EQ(offsets(" +1 , 0 ; -1 , 0 ", 2), (std::set<Coords>{{1, 0}, {-1, 0}}));
  EXPECT_EQ(offsets("5", 1), (std::set<Coords>{{5}}));
  EXPECT_EQ(offsets("2147483648,-2147483648", 2), (std::set<Coords>{{Index{1} << 31, -(Index{1} << 31)}}));
}

TEST(Stencil, SaysWhatIsWrong) {
  EXPECT_NE(complaint("1,0,0", 2).find("3 components but the grid has 2 axes"), std::string::npos);
  EXPECT_NE(complaint("1,0;0,0", 2).find("'0,0' leads from a cell to itself"), std::string::npos);
  EXPECT_NE(complaint("1,0;0,1;1,0", 2).find("'1,0' is given twice"), std::string::npos);
  EXPECT_NE(complaint("1,0;", 2).find("empty offset"), std::string::npos);
  EXPECT_NE(complaint("1,,0", 2).find("not a list of whole numbers"), std::string::npos);
  EXPECT_NE(complaint("1.5,0", 2).find("not a list of whole numbers"), std::string::npos);
  EXPECT_NE(complaint("1,0*1.5;0,1", 2).find("weight '1.5' is not a whole number"), std::string::npos);
  EXPECT_NE(complaint("2147483649", 1).find("2^31"), std::string::npos);
  EXPECT_NE(complaint("99999999999999999999", 1).find("2^31"), std::string::npos);
  EXPECT_NE(complaint("5-point", 2).find("'5-point' is unknown"), std::string::npos);
  EXPECT_NE(complaint("", 2).find("is unknown"), std::string::npos);
  EXPECT_NE(complaint("component", 1).find("take nearest-neighbor"), std::string::npos);
  EXPECT_NE(complaint("moore:0", 2).find("at least 1"), std::string::npos);
  EXPECT_NE(complaint("moore:", 2).find("at least 1"), std::string::npos);
  EXPECT_NE(complaint("moore:1x", 2).find("at least 1"), std::string::npos);
  EXPECT_NE(complaint("moore:100", 3).find("more than 100000 offsets"), std::string::npos);
  EXPECT_NE(complaint("moore:2147483648", 6).find("more than 100000 offsets"), std::string::npos);
  EXPECT_NE(complaint("nearest-neighbor", 0).find("1 to 64 axes"), std::string::npos);
  EXPECT_NE(complaint("nearest-neighbor", 1'000'000'000).find("1 to 64 axes"), std::string::npos);
}

TEST(Stencil, ComplaintsStayOnOneShortLine) {
  const std::string garbage = std::string(10'000, 'x') + "\n\t\x01\xff";
  for (const std::string& text : {garbage, "\n" + garbage, std::string(10'000, '1'),
                                  std::string("1;\x00"
                                              "2",
                                              4)}) {
    const std::string message = complaint(text, 2);
    EXPECT_FALSE(message.empty());
    EXPECT_LT(message.size(), 250U);
    EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; })) << message;
  }
}

}  // namespace
}  // namespace rankwise
