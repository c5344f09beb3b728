#include "profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "profile/json.hpp"

namespace rankwise {

namespace {

constexpr int schema = 1;
constexpr std::size_t least_sizes = 3;  // of a table: through two sizes any line is perfect

[[noreturn]] void wrong(const Json& where, const std::string& what) {
  invalid("line " + std::to_string(where.line()) + ": " + what);
}

Index size_of(const Json& value) {
  const double size = value.number();
  if (size < 0 || size > 1e15 || size != std::floor(size)) wrong(value, "this is not a size in bytes");
  return static_cast<Index>(size);
}

void check_table(const Json& table) {
  double before = -1.0;
  for (const Json& point : table.items()) {
    const double size = static_cast<double>(size_of(point.at("size_bytes")));
    if (size <= before) wrong(point, "the sizes of the table are not in order, or not each once");
    if (point.at("time_s").number() <= 0) wrong(point.at("time_s"), "a time is not positive");
    before = size;
  }
  if (table.items().size() < least_sizes) wrong(table, "the table has fewer than three sizes, through which any line is perfect");
}

std::vector<TimeLine> lines_of(const Json& curve, const std::string& link_model) {
  check_table(curve.at("table"));
  const Json& models = curve.at("models");
  const std::string& name = link_model.empty() ? curve.at("model").string() : link_model;
  const Json* model = models.find(name);
  if (model == nullptr) {
    std::string known;
    for (const auto& [id, value] : models.members()) known += (known.empty() ? "" : ", ") + id;
    wrong(models, "there is no model '" + name + "': choose one of " + known);
  }
  std::vector<TimeLine> lines;
  for (const Json& segment : model->at("segments").items()) {
    const TimeLine line{size_of(segment.at("from_bytes")), segment.at("alpha_s").number(),
                        segment.at("beta_s_per_byte").number()};
    if (!lines.empty() && line.from_bytes <= lines.back().from_bytes) wrong(segment, "the segments are not in order of size");
    if (line.alpha_s + line.beta_s_per_byte * static_cast<double>(line.from_bytes) < 0) wrong(segment, "a time is negative");
    lines.push_back(line);
  }
  if (lines.empty()) wrong(*model, "the model has no segment");
  return lines;
}

// How much slower messages are beside background traffic; all ways of sending alike, for one of them was measured.
struct Slowdown {
  double alpha = 1.0;
  double beta = 1.0;
};

Slowdown slowdown_of(const Json& link) {
  const Json* loaded = link.find("loaded");
  if (loaded == nullptr) {
    wrong(link, "nothing was measured beside background traffic: run 'rankwise measure --background N', or leave it out");
  }
  const auto ratio = [&](const char* key) {
    const double then = loaded->at(key).number();
    const double idle = link.at(key).number();
    if (then < 0) wrong(loaded->at(key), std::string(key) + " is negative");
    return idle > 0 ? then / idle : 1.0;
  };
  return {ratio("alpha_s"), ratio("beta_s_per_byte")};
}

TimeCurve curve_of(std::vector<TimeLine> lines, const Slowdown& slowdown) {
  for (TimeLine& line : lines) {
    line.alpha_s *= slowdown.alpha;
    line.beta_s_per_byte *= slowdown.beta;
  }
  return TimeCurve(std::move(lines));
}

// T(m) - T(0): what the bytes alone cost.
std::vector<TimeLine> without_alpha(std::vector<TimeLine> lines, double alpha_s) {
  for (TimeLine& line : lines) line.alpha_s = std::max(0.0, line.alpha_s - alpha_s);
  return lines;
}

const Json* parameter_of(const Json* owner, const char* key) {
  const Json* parameters = owner == nullptr ? nullptr : owner->find("parameters");
  return parameters == nullptr ? nullptr : parameters->find(key);
}

std::optional<double> parameter(const Json* owner, const char* key) {
  const Json* found = parameter_of(owner, key);
  if (found == nullptr) return std::nullopt;
  const double value = found->at("value").number();
  if (value < 0) wrong(*found, std::string(key) + " is negative");
  return value;
}

// From which size on MPI_Send waits for its receiver: as seen by its return, or else as LogGP's break tells.
std::optional<Index> rendezvous_of(const Json& link) {
  if (const Json* limit = parameter_of(&link, "send_returns_up_to_bytes")) {
    return static_cast<Index>(limit->at("value").number()) + 1;  // -1: not even an empty message
  }
  const std::optional<double> found = parameter(link.at("models").find("loggp"), "rendezvous_from_bytes");
  return found ? std::optional<Index>(static_cast<Index>(*found)) : std::nullopt;
}

// o of a processor at either end: the mean of sending and receiving where they were measured, or else LogGP's.
std::optional<double> overhead_of(const Json& link) {
  const std::optional<double> sending = parameter(&link, "send_overhead_s");
  const std::optional<double> receiving = parameter(&link, "receive_overhead_s");
  if (sending && receiving) return (*sending + *receiving) / 2;
  return parameter(link.at("models").find("loggp"), "overhead_s");
}

LinkCost link_cost(const Json& link, const ProfileUse& use) {
  const Slowdown slowdown = use.loaded ? slowdown_of(link) : Slowdown{};
  const std::vector<TimeLine> send = lines_of(link, use.link_model);
  const Json* variants = link.find("variants");
  const auto lines = [&](const char* way, const std::vector<TimeLine>& otherwise) {
    const Json* curve = variants == nullptr ? nullptr : variants->find(way);
    return curve_of(curve == nullptr ? otherwise : lines_of(*curve, use.link_model), slowdown);
  };
  LinkCost cost{curve_of(send, slowdown), lines("ssend", send), lines("exchange", send),
                lines("exchange-gap", without_alpha(send, link.at("alpha_s").number()))};
  if (const std::optional<double> overhead_s = overhead_of(link)) {
    cost.overhead_s = *overhead_s * slowdown.alpha;
    // Each further message of a burst costs a processor one send and one receive. What a single message is seen to cost
    // it can be more, by how long a waiting call takes to notice it.
    if (variants != nullptr && variants->find("exchange-gap") != nullptr) {
      cost.overhead_s = std::min(*cost.overhead_s, cost.exchange_gap(0) / 2);
    }
  }
  if (variants != nullptr && variants->find("ssend") != nullptr) cost.rendezvous_from_bytes = rendezvous_of(link);
  if (variants != nullptr && variants->find("ssend") != nullptr) cost.acknowledgement_s = cost.send(0);
  return cost;
}

}  // namespace

Machine read_machine(const std::string& profile, const ProfileUse& use) {
  const Json root = Json::parse(profile);
  const Json* version = root.find("schema");
  if (version == nullptr) wrong(root, "it names no schema");
  if (version->number() > schema) {
    wrong(*version, "it is of a newer schema than this program knows: update rankwise to read it");
  }
  Machine machine;
  for (const auto& [name, link] : root.at("links").members()) {
    // Places know of cores and sockets: a pair that shares a cache is costed as any of its socket.
    bool known = name == "shared-cache";
    for (std::size_t i = 0; i < link_class_count; ++i) {
      if (to_string(static_cast<LinkClass>(i)) != name) continue;
      machine.links[i] = link_cost(link, use);
      known = true;
    }
    if (!known) wrong(link, "'" + name + "' is not a link class (same-core, same-socket, other-socket, other-node)");
  }
  if (root.at("links").members().empty()) wrong(root.at("links"), "it has no link class");
  return machine;
}

const Machine& default_machine() {
  static const Machine machine = [] {
    constexpr double alpha_s = 2e-6;
    constexpr double overhead_s = 0.5e-6;
    constexpr double beta_s_per_byte = 1e-10;
    const TimeCurve time({{0, alpha_s, beta_s_per_byte}});
    const TimeCurve gap({{0, overhead_s, 0.0}, {5000, 0.0, beta_s_per_byte}});  // the larger of both
    Machine made;
    for (auto& link : made.links) link = LinkCost{time, time, time, gap, overhead_s};
    return made;
  }();
  return machine;
}

}  // namespace rankwise
