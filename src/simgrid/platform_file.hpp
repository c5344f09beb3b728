// The text file that describes a platform, and what a message takes by it. Pure: no SimGrid.
#pragma once

#include <algorithm>
#include <istream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace rankwise::platform {

struct Segment {
  double from_bytes;
  double alpha_s;
  double beta_s_per_byte;
};
using Curve = std::vector<Segment>;

// What a message has of its own, before it shares anything.
struct Own {
  double latency_s;
  double bytes_per_s;
};

// SMPI sends so much more than the message itself (tag, communicator, ranks); what was measured has it in its alpha.
constexpr double envelope_bytes = 16.0;

// passes_bytes_per_s: of the network card, 0: not known. A message holds it no shorter than its bytes take there, though a first
// one may be quicker (a shaped link's credit): a lone message takes so much longer than measured.
inline Own own_time(const Curve& curve, double sent_bytes, double passes_bytes_per_s) {
  const double bytes = std::max(0.0, sent_bytes - envelope_bytes);
  const auto next = std::upper_bound(curve.begin(), curve.end(), bytes,
                                     [](double size, const Segment& segment) { return size < segment.from_bytes; });
  const Segment& segment = next == curve.begin() ? curve.front() : *(next - 1);
  constexpr double least_s = 1e-12;
  const double passing_s = passes_bytes_per_s > 0 ? bytes / passes_bytes_per_s : 0.0;
  const double time_s = std::max({segment.alpha_s + segment.beta_s_per_byte * bytes, passing_s, least_s});
  // A line between two measured sizes may start below zero or fall: its time counts, not how it is split.
  const double latency_s = std::clamp(std::min(segment.alpha_s, time_s - passing_s), 0.001 * time_s, 0.999 * time_s);
  return {latency_s, sent_bytes / (time_s - latency_s)};
}

class Platform {
 public:
  explicit Platform(std::istream& file) {
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line.substr(0, line.find('#')));
      std::string key;
      if (!(fields >> key)) continue;
      if (key == "segment") {
        std::string link;
        Segment segment{};
        if (!(fields >> link >> segment.from_bytes >> segment.alpha_s >> segment.beta_s_per_byte)) wrong(line);
        curves_[link].push_back(segment);
      } else if (key == "topology") {
        fields >> topology_;
      } else {
        for (double value = 0; fields >> value;) values_[key].push_back(value);
      }
      if (fields.fail() && !fields.eof()) wrong(line);
    }
  }

  [[nodiscard]] double number(const std::string& key) const { return list(key).front(); }
  [[nodiscard]] std::vector<unsigned> counts(const std::string& key) const {
    std::vector<unsigned> found;
    for (const double value : list(key)) {
      if (!(value >= 0.0 && value <= most_count)) throw std::runtime_error("platform file: '" + key + "' is no count");
      found.push_back(static_cast<unsigned>(value));
    }
    return found;
  }
  [[nodiscard]] unsigned count(const std::string& key) const { return counts(key).front(); }
  [[nodiscard]] const std::string& topology() const { return topology_; }
  [[nodiscard]] const Curve& curve(const std::string& link) const {
    const auto found = curves_.find(link);
    if (found == curves_.end()) throw std::runtime_error("platform file has no segment of " + link);
    return found->second;
  }

 private:
  [[noreturn]] static void wrong(const std::string& line) {
    throw std::runtime_error("platform file, line '" + line + "' is not understood");
  }

  static constexpr double most_count = 1e9;

  [[nodiscard]] const std::vector<double>& list(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end() || found->second.empty()) throw std::runtime_error("platform file lacks '" + key + "'");
    return found->second;
  }

  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, Curve> curves_;
  std::string topology_;
};

}  // namespace rankwise::platform
