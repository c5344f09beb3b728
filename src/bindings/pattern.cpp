#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "pattern/pattern.hpp"

namespace nb = nanobind;

namespace {

using rankwise::Index;
using rankwise::Pattern;

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<const T> span_of(const Input<T>& array) {
  return {array.data(), array.size()};
}

Pattern find_grid(const Input<Index>& pointer, const Input<std::uint32_t>& peer, const Input<std::uint64_t>& messages,
                  const Input<std::uint64_t>& bytes) {
  const rankwise::Traffic traffic{span_of(pointer), span_of(peer), span_of(messages), span_of(bytes)};
  const nb::gil_scoped_release unlocked;
  return rankwise::find_pattern(traffic);
}

using OffsetRow = std::tuple<std::vector<Index>, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<OffsetRow> offsets_of(const Pattern& pattern) {
  std::vector<OffsetRow> rows;
  for (const rankwise::KeptOffset& kept : pattern.offsets) {
    const auto ndim = static_cast<std::ptrdiff_t>(pattern.dims.size());
    rows.emplace_back(std::vector<Index>(kept.offset.begin(), kept.offset.begin() + ndim), kept.pairs, kept.messages,
                      kept.bytes);
  }
  return rows;
}

}  // namespace

void bind_pattern(nb::module_& m) {
  nb::class_<Pattern>(m, "FoundPattern", "What describes a traffic matrix shortest.")
      .def_prop_ro(
          "kind", [](const Pattern& p) { return rankwise::to_string(p.kind); }, "grid, graph or uncertain.")
      .def_ro("dims", &Pattern::dims)
      .def_ro("periodic", &Pattern::periodic)
      .def_prop_ro("offsets", &offsets_of, "Of each offset its coordinates, pairs, messages and bytes.")
      .def_ro("explained", &Pattern::explained, "The share of bytes that follow the offsets.")
      .def_ro("bits", &Pattern::bits)
      .def_ro("noise_bits", &Pattern::noise_bits)
      .def_ro("cell_of_rank", &Pattern::cell_of_rank, "Row-major.");
  m.def("find_grid", &find_grid, nb::arg("pointer"), nb::arg("peer"), nb::arg("messages"), nb::arg("bytes"),
        "Find the grid in a traffic matrix (rows are senders, in compressed form). Raises ValueError on arrays that do "
        "not fit each other.");
}
