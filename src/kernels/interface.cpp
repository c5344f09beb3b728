#include "kernels/interface.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

#include "grid/names.hpp"
#include "measure/together.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

template <typename Number>
Number parsed(const std::string& text, const std::string& what, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(what + " '" + text + "' is not " + kind);
  }
  return value;
}

}  // namespace

long long to_integer(const std::string& text, const std::string& what) { return parsed<long long>(text, what, "an integer"); }

Arguments::Arguments(int argc, char** argv, int first) {
  for (int i = first; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) throw std::invalid_argument("'" + name + "' is not an option: write --name value");
    if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
    values_[name.substr(2)] = argv[i + 1];
  }
}

std::string Arguments::text(const std::string& name, const std::string& fallback) {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  used_[name] = true;
  return found->second;
}

long long Arguments::integer(const std::string& name, long long fallback) {
  return to_integer(text(name, std::to_string(fallback)), "--" + name);
}

double Arguments::number(const std::string& name, double fallback) {
  const std::string value = text(name, "");
  return value.empty() ? fallback : parsed<double>(value, "--" + name, "a number");
}

std::vector<std::string> Arguments::list(const std::string& name, const std::string& fallback) {
  std::vector<std::string> parts;
  std::stringstream stream(text(name, fallback));
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<long long> Arguments::integers(const std::string& name, const std::string& fallback) {
  std::vector<long long> values;
  for (const std::string& part : list(name, fallback)) values.push_back(to_integer(part, "--" + name));
  return values;
}

GridShape parse_shape(Arguments& arguments, const std::string& periodic) {
  GridShape shape;
  for (const long long length : arguments.integers("grid", "1")) shape.dims.push_back(length);
  for (const long long flag : arguments.integers("periodic", periodic)) shape.periodic.push_back(flag != 0);
  return shape;
}

void Arguments::expect_all_used() const {
  for (const auto& [name, value] : values_) {
    if (!used_.contains(name)) throw std::invalid_argument("--" + name + " is not known here");
  }
}

OwnedComm comm_of_ranks(const std::vector<int>& ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group chosen = MPI_GROUP_NULL;
  OwnedComm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &chosen);
  MPI_Comm_create_group(MPI_COMM_WORLD, chosen, 0, &comm);
  MPI_Group_free(&chosen);
  MPI_Group_free(&all);
  return comm;
}

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == mark) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(double value) { return formatted("%.8g", value); }

template <typename Value, typename Format>
std::string listed(const std::vector<Value>& values, Format format) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? "," : "") + format(values[i]);
  return out + "]";
}

}  // namespace

void JsonLine::key(const std::string& key) { fields_ += (fields_.empty() ? "" : ",") + quoted(key) + ":"; }

JsonLine& JsonLine::add_json(const std::string& name, const std::string& json) {
  key(name);
  fields_ += json;
  return *this;
}

JsonLine& JsonLine::add(const std::string& name, const std::string& value) { return add_json(name, quoted(value)); }

JsonLine& JsonLine::add(const std::string& name, double value) { return add_json(name, number(value)); }

JsonLine& JsonLine::add(const std::string& name, long long value) { return add_json(name, std::to_string(value)); }

JsonLine& JsonLine::add(const std::string& name, bool value) { return add_json(name, value ? "true" : "false"); }

JsonLine& JsonLine::add(const std::string& name, const std::vector<double>& values) {
  return add_json(name, listed(values, number));
}

JsonLine& JsonLine::add(const std::string& name, const std::vector<long long>& values) {
  return add_json(name, listed(values, [](long long value) { return std::to_string(value); }));
}

void JsonLine::print() const {
  const std::string line = text() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

namespace {

Cell parse_cell(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw std::invalid_argument("cell '" + text + "' is not operation:size");
  const long long size_bytes = to_integer(text.substr(colon + 1), "size");
  if (size_bytes < 0) throw std::invalid_argument("size " + std::to_string(size_bytes) + " is negative");
  require_size(static_cast<std::size_t>(size_bytes));
  return {text.substr(0, colon), static_cast<std::size_t>(size_bytes)};
}

// How long samples of each operation took, by size: what the next larger one will take at least.
class Foresight {
 public:
  void note(const Cell& cell, const std::vector<double>& time_s) {
    seen_[cell.operation][cell.size_bytes] = *std::min_element(time_s.begin(), time_s.end());
  }

  // A checked round and a sample, on the line through the two largest sizes below; 0 where that tells nothing.
  [[nodiscard]] double least_s(const Cell& cell) const {
    const auto found = seen_.find(cell.operation);
    if (found == seen_.end()) return 0.0;
    const std::map<std::size_t, double>& by_size = found->second;
    const auto above = by_size.lower_bound(cell.size_bytes);
    if (above == by_size.begin() || std::prev(above) == by_size.begin()) return 0.0;
    const auto& [large_bytes, large_s] = *std::prev(above);
    const auto& [small_bytes, small_s] = *std::prev(above, 2);
    constexpr std::size_t telling_bytes = 256;
    if (large_bytes < telling_bytes) return 0.0;
    const double per_byte_s = std::max(0.0, (large_s - small_s) / static_cast<double>(large_bytes - small_bytes));
    return 2.0 * (large_s + per_byte_s * static_cast<double>(cell.size_bytes - large_bytes));
  }

 private:
  std::map<std::string, std::map<std::size_t, double>> seen_;
};

enum Verdict : int { measure_it, leave_it, time_is_up };

Verdict verdict_on(MPI_Comm comm, double until_s, double least_s) {
  const double left_s = until_s - steady_s();
  int verdict = left_s <= 0.0 ? time_is_up : least_s > left_s ? leave_it : measure_it;
  MPI_Bcast(&verdict, 1, MPI_INT, 0, comm);
  return static_cast<Verdict>(verdict);
}

}  // namespace

Cells::Cells(Arguments& arguments, const std::string& fallback)
    : sampling_{arguments.number("budget-s", 0.05), static_cast<int>(arguments.integer("least", 20)),
                static_cast<int>(arguments.integer("most", 2000))},
      seconds_(arguments.number("seconds", std::numeric_limits<double>::infinity())),
      needed_(arguments.integer("needed", 0)),
      patience_s_(arguments.number("patience-s", 0.0)) {
  for (const std::string& text : arguments.list("cells", fallback)) cells_.push_back(parse_cell(text));
  if (sampling_.least < 1 || sampling_.most < sampling_.least || !(sampling_.budget_s > 0.0)) {
    throw std::invalid_argument("--budget-s must be positive and 1 <= --least <= --most");
  }
}

void Cells::run(const std::string& kernel, MPI_Comm comm,
                const std::function<Outcome(const Cell&, const Sampling&)>& measure) const {
  const int rank = rank_of(comm);
  Sampling sampling = sampling_;
  const double end_s = steady_s() + seconds_;
  Foresight foresight;  // on rank 0
  long long number = 0;
  for (const Cell& cell : cells_) {
    sampling.until_s = end_s + (number++ < needed_ ? patience_s_ : 0.0);
    const Verdict verdict = verdict_on(comm, sampling.until_s, foresight.least_s(cell));
    if (verdict == time_is_up) return;
    if (verdict == leave_it) continue;
    const double begin_s = steady_s();
    const Outcome outcome = measure(cell, sampling);
    const std::vector<double> reference_s = reference_loops_s(comm);
    if (rank != 0) continue;
    foresight.note(cell, outcome.samples.time_s);
    JsonLine line("samples");
    line.add("kernel", kernel)
        .add("operation", cell.operation)
        .add("size_bytes", static_cast<long long>(cell.size_bytes))
        .add("parts", outcome.parts);
    for (const auto& [name, count] : outcome.counts) line.add(name, count);
    for (const auto& [name, figure] : outcome.figures) line.add(name, figure);
    line.add("verified", outcome.samples.verified)
        .add("involuntary_switches", outcome.samples.involuntary_switches)
        .add("moved_ranks", outcome.samples.moved_ranks)
        .add("visit_s", steady_s() - begin_s)
        .add("reference_loop_s", reference_s)
        .add("time_s", outcome.samples.time_s)
        .print();
  }
}

long long number_after(const std::string& operation, const std::string& beginning) {
  if (operation.rfind(beginning, 0) != 0) return -1;
  const char* end = operation.data() + operation.size();
  long long number = 0;
  const auto [rest, error] = std::from_chars(operation.data() + beginning.size(), end, number);
  return error == std::errc() && rest == end && number >= 1 ? number : -1;
}

}  // namespace rankwise
