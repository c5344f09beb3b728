// Messages that are in flight at the same time share what they pass, as flows do: in time, without an order among them.
//
// A resource that each of its messages alone would hold for held_s gives them its time so that all have as many bytes a second,
// but for those that something else bounds (max-min fairness: Bertsekas and Gallager, Data Networks, section 6.5.2). What one
// message finds free it passes at its own speed, though it may be faster than the resource in the long run: what others of its
// length are delayed by, it is not (Hold::excess_s), where the resource was free for as long before; nor are those behind it, as
// long as a credit from then lasts (Hold::credit_s).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cost/machine.hpp"

namespace rankwise {

class Flows {
 public:
  using Id = std::uint32_t;
  // What a message passes: a resource, by any number of the caller's, and how long it holds that.
  struct Use {
    std::size_t resource;
    Hold hold;
  };
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double rounding = 1e-12;

  // A message, which flows for own_s where nothing is shared.
  struct Message {
    double own_s;
    Index bytes;
  };
  // Each id once. Times do not go back from call to call.
  void start(Id id, double now_s, const Message& message, const std::vector<Use>& way);
  // When rates are to be found again, for what has started and ended; never: nothing has. At once where that was one in 256 of the
  // flows at one time; else not before 0.5 % of what they take in the mean has gone by, so that not each changes the rates of all.
  [[nodiscard]] double due_s() const;
  void settle(double now_s);
  // When the next flow ends, as rates are; never: none is under way.
  [[nodiscard]] double next_s() const { return ends_.earliest().time_s; }
  // The flow that ends then, which is over with this.
  Id end(double now_s);

 private:
  using Place = std::uint32_t;  // of a flow under way, which another one takes when it is over
  struct Held {
    std::size_t resource;
    double held_s;
    std::uint32_t at;  // its place among the resource's flows
  };
  struct Flow {
    Id id;
    double left;     // of its message
    double since_s;  // when so much was left
    double rate;     // parts of the message a second
    double rate_before;
    double fastest;
    double bytes;
    bool fixed = false;         // its rate is found
    bool found = false;         // it belongs to those whose rates are being found
    std::size_t first_use = 0;  // of the resources that bind
    std::size_t uses = 0;
    std::vector<Held> way;
  };
  struct Resource {
    std::vector<std::pair<Place, std::uint32_t>> flows;  // and where in its way each has the resource
    double asked = 0.0;                                  // time that its flows would take at their fastest
    double left_s = -never;                              // when the last one was over
    double credit_s = 0.0;                               // that flows may be spared
    std::uint32_t number = 0;                            // among those that bind
    bool changed = false;
    bool found = false;
  };
  // A resource that cannot give all its flows what they could take.
  struct Binding {
    double free = 1.0;     // of its time
    double weight = 0.0;   // time it takes that each flow without a rate passes a byte
    std::size_t open = 0;  // how many these are
  };
  struct BindingUse {
    std::uint32_t number;
    double held_s;
    double weight;
  };
  struct End {
    double time_s = never;
    Id id = 0;
    Place place = 0;
    bool operator<(const End& other) const { return time_s != other.time_s ? time_s < other.time_s : id < other.id; }
    bool operator==(const End&) const = default;
  };
  // The ends of all places, so that the earliest is known and changed in few steps: a tournament (Knuth, The Art of Computer
  // Programming, volume 3, section 5.4.1).
  class Ends {
   public:
    [[nodiscard]] const End& earliest() const { return nodes_[1]; }
    void set(const End& end);
    // Likewise of many at once.
    void set(const std::vector<End>& ends);

   private:
    void make_room(Place place);
    void find_earlier(std::size_t node) { nodes_[node] = std::min(nodes_[2 * node], nodes_[2 * node + 1]); }
    std::vector<End> nodes_ = std::vector<End>(2);  // the earlier of nodes 2 i and 2 i + 1 is node i; places are the last half
  };

  [[nodiscard]] static bool binds(const Resource& resource) { return resource.asked > 1 + rounding; }
  void count(double now_s);
  void change(std::size_t resource, double now_s);
  // The flows whose rates depend on those that pass a resource.
  void gather(std::size_t resource);
  void share();
  void fix(Flow& flow, double rate);

  std::vector<Flow> flows_;
  std::vector<Place> free_;
  std::vector<Resource> resources_;
  std::vector<std::size_t> changed_;
  double changed_s_ = 0.0;  // when the first of them did
  double settled_s_ = -1.0;
  std::size_t at_one_time_ = 0;  // how many have started and ended
  double that_s_ = -1.0;         // the latest such time
  std::size_t under_way_ = 0;
  double duration_s_ = 0.0;  // of all of them together, as rates are
  // Of those whose rates are being found:
  std::vector<Place> together_;
  std::size_t open_ = 0;                           // how many have no rate yet
  std::vector<std::pair<double, Place>> by_most_;  // bytes a second
  std::vector<std::size_t> resources_of_them_;
  std::vector<Binding> bindings_;
  std::vector<BindingUse> uses_;  // flow by flow
  std::vector<std::size_t> to_visit_;
  using Level = std::pair<double, std::size_t>;  // bytes a second that a resource allows each flow
  std::vector<Level> levels_;                    // a heap
  std::vector<End> new_ends_;
  Ends ends_;
};

}  // namespace rankwise
