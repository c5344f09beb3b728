// Each part of the core registers its own bindings; module.cpp calls them in order.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>

#include "decide/representatives.hpp"

// Arrays as they come from Python.
template <typename T>
using Input = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <typename T>
std::span<const T> span_of(const Input<T>& array) {
  return {array.data(), array.size()};
}

// A program on a placement, ready to be priced for any block size and machine.
struct Judged {
  rankwise::Walk walk;
};

void bind_mapping(nanobind::module_& m);
void bind_schedule(nanobind::module_& m);
void bind_cost(nanobind::module_& m);
