"""A planted gap in the C++ tests of a toy is found: 'make mutants' begins with it, for libclang is there then."""

from pathlib import Path

import run

TOY = """#include "toy/toy.hpp"
#include <algorithm>
struct Prices { double few = 3.0; double many = 2.0; };
double price(int count) {
  constexpr double least = 4.0;
  Prices prices;
  if (count > 10) prices.few = prices.many;
  return std::max(least, prices.few * count);
}
"""
# Nobody asks what ten cost, nor where the least ends.
TESTS = """#include "toy/toy.hpp"
#include <gtest/gtest.h>
TEST(Toy, Price) {
  EXPECT_EQ(price(20), 40.0);
  EXPECT_EQ(price(5), 15.0);
  EXPECT_EQ(price(0), 4.0);
}
"""
BUILD = """cmake_minimum_required(VERSION 3.22)
project(toy CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(GTest REQUIRED)
add_library(toy_core STATIC src/toy/toy.cpp)
target_include_directories(toy_core PUBLIC src)
add_executable(toy_tests tests/toy_test.cpp)
target_link_libraries(toy_tests toy_core GTest::gtest_main)
"""


def test_a_gap_in_the_tests_of_a_toy_is_found(tmp_path: Path) -> None:
    for name, text in {
        "src/toy/toy.hpp": "#pragma once\ndouble price(int count);\n", "src/toy/toy.cpp": TOY, "tests/toy_test.cpp": TESTS,
        "CMakeLists.txt": BUILD,
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    chosen, left, every = run.measure(run.CppPart("toy", tmp_path, tmp_path / "build"), 0)
    assert len(chosen) == every == 12
    condition = "src/toy/toy.cpp: if (count > 10) prices.few = prices.many;: "
    assert sorted(mutant.name for mutant in left) == [condition + "10 one more", condition + "> to >="]
