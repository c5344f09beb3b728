#include "profile/profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "profile/json.hpp"

namespace rankwise {

namespace {

constexpr int schema = 2;
constexpr double most_bytes = 1e15;
constexpr std::size_t least_sizes = 3;  // of a table: through two sizes any line is perfect

[[noreturn]] void wrong(const Json& where, const std::string& what) {
  invalid("line " + std::to_string(where.line()) + ": " + what);
}

Index size_of(const Json& value) {
  const double size = value.number();
  if (size < 0 || size > most_bytes || size != std::floor(size)) wrong(value, "this is not a size in bytes");
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
  if (table.items().size() < least_sizes)
    wrong(table, "the table has fewer than three sizes, through which any line is perfect");
}

// Straight lines, and up to which size they are known.
struct Lines {
  std::vector<TimeLine> lines;
  Index largest_bytes = 0;
};

Lines lines_of(const Json& curve, const std::string& link_model) {
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
  return {std::move(lines), size_of(curve.at("table").items().back().at("size_bytes"))};
}

// Beyond its own rows, where plain sends are known to larger sizes, a way of sending takes as many times what those take as at
// its last row: a slope through rows of a few bytes says nothing of a million.
Lines beyond_its_rows(Lines curve, const Lines& send) {
  const Index last = curve.largest_bytes;
  const double plain_s = TimeCurve(send.lines)(last);
  if (last >= send.largest_bytes || !(plain_s > 0)) return curve;
  const double factor = TimeCurve(curve.lines)(last) / plain_s;
  while (!curve.lines.empty() && curve.lines.back().from_bytes >= last) curve.lines.pop_back();
  for (std::size_t i = 0; i < send.lines.size(); ++i) {
    if (i + 1 < send.lines.size() && send.lines[i + 1].from_bytes <= last) continue;
    const TimeLine& line = send.lines[i];
    curve.lines.push_back({std::max(line.from_bytes, last), factor * line.alpha_s, factor * line.beta_s_per_byte});
  }
  return {std::move(curve.lines), send.largest_bytes};
}

// How much slower messages are under background traffic; all ways of sending alike, for one of them was measured.
struct Slowdown {
  double alpha = 1.0;
  double beta = 1.0;
};

Slowdown slowdown_of(const Json& link) {
  const Json* loaded = link.find("loaded");
  if (loaded == nullptr) {
    wrong(link, "nothing was measured under background traffic: run 'rankwise measure --background N', or leave it out");
  }
  const auto ratio = [&](const char* key) {
    const double then = loaded->at(key).number();
    const double idle = link.at(key).number();
    if (then < 0) wrong(loaded->at(key), std::string(key) + " is negative");
    return idle > 0 ? then / idle : 1.0;
  };
  return {ratio("alpha_s"), ratio("beta_s_per_byte")};
}

TimeCurve curve_of(Lines known, const Slowdown& slowdown) {
  for (TimeLine& line : known.lines) {
    line.alpha_s *= slowdown.alpha;
    line.beta_s_per_byte *= slowdown.beta;
  }
  return TimeCurve(std::move(known.lines), known.largest_bytes);
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
    const double bytes = limit->at("value").number();
    if (bytes < -1 || bytes > most_bytes) wrong(*limit, "send_returns_up_to_bytes is not a size in bytes, or -1 for none");
    // Where none of the sizes that were tried waits, none is known to.
    const std::optional<double> tried = parameter(&link, "limits_tried_up_to_bytes");
    if (tried && bytes >= *tried) return std::numeric_limits<Index>::max();
    return static_cast<Index>(bytes) + 1;  // -1: not even an empty message
  }
  const Json* loggp = link.at("models").find("loggp");
  const std::optional<double> found = parameter(loggp, "rendezvous_from_bytes");
  if (found && *found > most_bytes) wrong(*loggp, "rendezvous_from_bytes is not a size in bytes");
  return found ? std::optional<Index>(static_cast<Index>(*found)) : std::nullopt;
}

// o of a processor at either end: the mean of sending and receiving where they were measured, or else LogGP's.
std::optional<double> overhead_of(const Json& link) {
  const std::optional<double> sending = parameter(&link, "send_overhead_s");
  const std::optional<double> receiving = parameter(&link, "receive_overhead_s");
  if (sending && receiving) return (*sending + *receiving) / 2;
  return parameter(link.at("models").find("loggp"), "overhead_s");
}

// Times at sizes, [[bytes, seconds], ...]: straight lines between them.
TimeCurve timed_curve(const Json& rows) {
  std::vector<TimeLine> lines;
  double before_s = 0.0;
  for (const Json& row : rows.items()) {
    if (row.items().size() != 2) wrong(row, "this is not [bytes, seconds]");
    const Index bytes = size_of(row.items()[0]);
    const double time_s = row.items()[1].number();
    if (time_s < 0) wrong(row, "a time is negative");
    if (!lines.empty() && bytes <= lines.back().from_bytes) wrong(row, "the sizes are not in order");
    if (!lines.empty()) {
      TimeLine& line = lines.back();
      line.beta_s_per_byte = (time_s - before_s) / static_cast<double>(bytes - line.from_bytes);
      line.alpha_s = before_s - line.beta_s_per_byte * static_cast<double>(line.from_bytes);
    }
    lines.push_back({bytes, time_s, 0.0});
    before_s = time_s;
  }
  if (lines.empty()) wrong(rows, "there is no time");
  if (lines.size() > 1 && lines[lines.size() - 2].beta_s_per_byte > 0) {
    TimeLine& last = lines.back();
    last.beta_s_per_byte = lines[lines.size() - 2].beta_s_per_byte;
    last.alpha_s -= last.beta_s_per_byte * static_cast<double>(last.from_bytes);
  }
  return TimeCurve(std::move(lines));
}

// What steps take by one way of sending.
StepCosts steps_of(const Json& steps) {
  const auto known = [&](const char* name) -> std::optional<TimeCurve> {
    const Json* rows = steps.find(name);
    return rows == nullptr ? std::nullopt : std::optional(timed_curve(*rows));
  };
  return {timed_curve(steps.at("start-1")),
          timed_curve(steps.at("start-2")),
          timed_curve(steps.at("start-4")),
          timed_curve(steps.at("later-1")),
          timed_curve(steps.at("later-2")),
          known("chain-start"),
          known("chain"),
          known("collective")};
}

LinkCost link_cost(const Json& link, const ProfileUse& use) {
  const Slowdown slowdown = use.loaded ? slowdown_of(link) : Slowdown{};
  const Lines plain = lines_of(link, use.link_model);
  const TimeCurve send = curve_of(plain, slowdown);
  const Json* variants = link.find("variants");
  const auto measured = [&](const char* variant) -> std::optional<TimeCurve> {
    const Json* curve = variants == nullptr ? nullptr : variants->find(variant);
    if (curve == nullptr) return std::nullopt;
    return curve_of(beyond_its_rows(lines_of(*curve, use.link_model), plain), slowdown);
  };
  const std::optional<TimeCurve> ssend = measured("ssend");
  LinkCost cost{send, ssend.value_or(send), measured("exchange").value_or(send), measured("exchange-gap")};
  if (const std::optional<double> overhead_s = overhead_of(link)) {
    cost.overhead_s = *overhead_s * slowdown.alpha;
    // Each further message of a burst costs a processor one send and one receive. What a single message is seen to cost
    // it can be more, by how long a waiting call takes to notice it.
    if (cost.exchange_gap) cost.overhead_s = std::min(*cost.overhead_s, cost.gap(0) / 2);
  }
  if (const Json* steps = use.loaded ? nullptr : link.find("steps")) {
    for (const auto& [mode, of_mode] : steps->members()) {
      cost.steps[static_cast<std::size_t>(parse_send_mode(mode))] = steps_of(of_mode);
    }
  }
  if (ssend) {
    cost.rendezvous_from_bytes = rendezvous_of(link);
    cost.acknowledgement_s = cost.send(0);
  }
  return cost;
}

double rate(const Json& value, const char* what) {
  const double rate = value.number();
  if (!(rate > 0)) wrong(value, std::string(what) + " is not above 0");
  return rate;
}

// What a node injects at most, where profiles of schema 1 have it: measured, or else as max-rate fits it.
std::optional<Resource> injection_of(const Json& links) {
  const Json* link = links.find("other-node");
  if (link == nullptr) return std::nullopt;
  const Json* found = parameter_of(link, "injection_bytes_per_s");
  if (found == nullptr) found = parameter_of(link->at("models").find("max-rate"), "injection_bytes_per_s");
  if (found == nullptr) return std::nullopt;
  return Resource{rate(found->at("value"), "injection_bytes_per_s")};
}

// Whether no more than one pair was measured at it: then how fast messages follow each other is that pair's own doing.
bool of_one_pair(const Json& resource) {
  const Json* pairs = resource.find("pairs");
  if (pairs == nullptr || pairs->items().empty()) return false;
  return std::all_of(pairs->items().begin(), pairs->items().end(), [](const Json& row) {
    if (row.items().empty()) wrong(row, "this row of pairs is empty");
    return row.items().front().number() <= 1;
  });
}

// Of what passes it both ways at once, a card has its rate each way; a memory has one for all.
std::optional<Resource> resource_of(const Json& shared, const char* name, bool each_way, Index segment_bytes = 0) {
  const Json* found = shared.find(name);
  if (found == nullptr) return std::nullopt;
  Resource resource{rate(found->at("bytes_per_s"), "bytes_per_s")};
  resource.segment_bytes = segment_bytes;
  if (const Json* messages = found->find("messages_per_s"); messages != nullptr && !of_one_pair(*found)) {
    resource.least_s = 1 / rate(*messages, "messages_per_s");
  }
  if (const Json* both = found->find("both_ways_bytes_per_s")) {
    const double both_bytes_per_s = rate(*both, "both_ways_bytes_per_s");
    constexpr double full_duplex = 1.25;  // of both directions against one; acknowledgements behind data leave 1.4 of 2
    if (each_way)
      resource.half_duplex = both_bytes_per_s < full_duplex * resource.bytes_per_s;
    else
      resource.bytes_per_s = std::max(resource.bytes_per_s, both_bytes_per_s);
  }
  if (const Json* exchange = found->find("exchange")) {
    // Rows of nodes, ranks a node, size and bytes/s; of several with one size the slowest.
    std::map<Index, double> shares;
    for (const Json& row : exchange->items()) {
      if (row.items().size() != 4) wrong(row, "this row of exchange is not [nodes, ranks a node, size in bytes, bytes/s]");
      const double ways = resource.half_duplex ? 2.0 : 1.0;
      const Index size_bytes = size_of(row.items()[2]);
      const double messages_per_s = rate(row.items()[3], "this rate") / static_cast<double>(std::max<Index>(1, size_bytes));
      const double passing_bytes_per_s = messages_per_s * resource.passing_bytes(size_bytes);
      const double share = std::min(1.0, ways * passing_bytes_per_s / resource.bytes_per_s);
      const auto [at, added] = shares.emplace(size_bytes, share);
      if (!added) at->second = std::min(at->second, share);
    }
    resource.exchange_shares.assign(shares.begin(), shares.end());
  }
  return resource;
}

// Between a size below the limit up to which sends wait for nobody and one above it, what a card passes leaps there.
void leap_at_limit(std::vector<std::pair<Index, double>>& shares, Index limit) {
  const auto above = std::ranges::find_if(shares, [&](const auto& row) { return row.first >= limit; });
  if (above == shares.begin() || above == shares.end()) return;
  const double below_share = std::prev(above)->second;
  shares.insert(above, {{limit - 1, below_share}, {limit, above->second}});
}

// The smallest segment of the TCP connections between nodes, by their congestion control; 0: none is known.
Index segment_of(const Json& root) {
  const Json* described = root.find("machine");
  const Json* tcp = described == nullptr ? nullptr : described->find("tcp");
  if (tcp == nullptr) return 0;
  Index least_bytes = 0;
  for (const auto& [name, segment] : tcp->members()) {
    const Index bytes = size_of(segment);
    if (bytes > 0 && (least_bytes == 0 || bytes < least_bytes)) least_bytes = bytes;
  }
  return least_bytes;
}

void read_shared(const Json& shared, Index segment_bytes, Machine& machine) {
  machine.card = resource_of(shared, "card", true, segment_bytes);
  machine.memory = resource_of(shared, "memory", false);
  machine.socket = resource_of(shared, "socket", false);
  machine.sockets = resource_of(shared, "sockets", false);
  const std::optional<LinkCost>& between = machine.links[static_cast<std::size_t>(LinkClass::other_node)];
  if (machine.card && between && between->rendezvous_from_bytes) {
    leap_at_limit(machine.card->exchange_shares, *between->rendezvous_from_bytes);
  }
  const Json* levels = shared.find("levels");
  if (levels == nullptr) return;
  for (const Json& level : levels->items()) {
    const double nodes = level.at("nodes").number();
    if (nodes < 1 || nodes > 1e9 || nodes != std::floor(nodes)) wrong(level, "this is not a number of nodes");
    machine.levels.push_back({static_cast<Index>(nodes), rate(level.at("up_bytes_per_s"), "up_bytes_per_s")});
  }
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
    const std::optional<LinkClass> known = find_link_class(name);
    if (!known)
      wrong(link, "'" + name + "' is not a link class (same-core, shared-cache, same-socket, other-socket, other-node)");
    machine.links[static_cast<std::size_t>(*known)] = link_cost(link, use);
  }
  if (root.at("links").members().empty()) wrong(root.at("links"), "it has no link class");
  if (const Json* shared = root.find("shared")) {
    read_shared(*shared, segment_of(root), machine);
  } else {
    machine.card = injection_of(root.at("links"));
  }
  if (const Json* work = root.find("work")) {
    if (const Json* copy = work->find("copy")) machine.copy = timed_curve(*copy);
    if (const Json* add = work->find("add")) machine.add = timed_curve(*add);
  }
  if (const Json* collectives = root.find("collectives")) {
    machine.combine = timed_curve(collectives->at("combine"));
    if (const Json* handover = collectives->find("handover_s")) {
      machine.handover_s = handover->number();
      machine.processors = size_of(collectives->at("processors"));
      if (machine.handover_s < 0) wrong(*handover, "handover_s is negative");
    }
  }
  machine.check();
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
    for (auto& link : made.links) link = LinkCost{time, time, time, gap, overhead_s, {}, {}};
    return made;
  }();
  return machine;
}

}  // namespace rankwise
