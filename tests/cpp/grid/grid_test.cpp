#include "grid/grid.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rankwise {
namespace {

TEST(Grid, CountsCellsRowMajor) {
  const Grid grid({3, 4, 5});
  EXPECT_EQ(grid.size(), 60);
  EXPECT_EQ(grid.cell({0, 0, 4}), 4);
  EXPECT_EQ(grid.cell({0, 1, 0}), 5);
  EXPECT_EQ(grid.cell({2, 3, 4}), 59);
  for (Index cell = 0; cell < grid.size(); ++cell) EXPECT_EQ(grid.cell(grid.coords(cell)), cell);
}

TEST(Grid, AxesAreOpenUnlessSaidOtherwise) {
  const Grid grid({3, 4});
  EXPECT_FALSE(grid.periodic(0));
  EXPECT_FALSE(grid.periodic(1));
}

TEST(Grid, ShiftLeavesAnOpenAxisAndWrapsOnAPeriodicOne) {
  const Grid grid({3, 4}, {false, true});
  EXPECT_EQ(grid.shifted(0, 2, 1), -1);
  EXPECT_EQ(grid.shifted(0, 0, -1), -1);
  EXPECT_EQ(grid.shifted(0, 0, 2), 2);
  EXPECT_EQ(grid.shifted(1, 3, 1), 0);
  EXPECT_EQ(grid.shifted(1, 0, -1), 3);
  EXPECT_EQ(grid.shifted(1, 1, -9), 0);
  EXPECT_EQ(grid.shifted(1, 1, 8), 1);
}

TEST(Grid, RefusesWhatIsNoGrid) {
  EXPECT_THROW(Grid({}), std::invalid_argument);
  EXPECT_THROW(Grid({3, 0}), std::invalid_argument);
  EXPECT_THROW(Grid({3, -2}), std::invalid_argument);
  EXPECT_THROW(Grid({3, 4}, {true}), std::invalid_argument);
  EXPECT_THROW(Grid({Index{1} << 40, Index{1} << 40}), std::invalid_argument);
  EXPECT_EQ(Grid({Index{1} << 31, Index{1} << 31}).size(), Index{1} << 62);
}

}  // namespace
}  // namespace rankwise
