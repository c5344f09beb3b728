// What a transform does on this rank, in order: work, and exchanges that may be under way while the caller computes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "mpi/mpi.hpp"

namespace rankwise {

// A collective exchange that can be left alone between its start and its end. All throw MpiError.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual void run() = 0;  // start and wait, perhaps by a quicker way
  virtual void start() = 0;
  [[nodiscard]] virtual bool test() = 0;  // true when it is complete; then neither test nor wait is called again
  virtual void wait() = 0;
};

class Stages {
 public:
  void add(std::function<void()> work) { steps_.push_back({std::move(work), nullptr, nullptr, Part::whole}); }
  // seconds: gets the time that this rank spends in the exchange on top; may be null.
  void add(Transfer& transfer, double* seconds) { steps_.push_back({{}, &transfer, seconds, Part::whole}); }
  // Its two halves, with work between them.
  void launch(Transfer& transfer, double* seconds) { steps_.push_back({{}, &transfer, seconds, Part::launch}); }
  void finish(Transfer& transfer, double* seconds) { steps_.push_back({{}, &transfer, seconds, Part::finish}); }

  void append(Stages&& more) {
    steps_.insert(steps_.end(), std::make_move_iterator(more.steps_.begin()), std::make_move_iterator(more.steps_.end()));
    more.clear();
  }
  // Stages that do not depend on each other, by turns: each goes on as far as its next exchange, which is under way while the
  // others have their turn. Alike on all ranks. None has been begun.
  [[nodiscard]] static Stages by_turns(std::vector<Stages> streams) {
    Stages all;
    for (bool left = true; left;) {
      left = false;
      for (Stages& stream : streams) {
        left = all.take_turn(stream) || left;
      }
    }
    return all;
  }

  // Collective: all of it. Afterwards there are none left. before: called with every transfer first.
  template <class Before>
  void run(Before before) {
    for (; next_ < steps_.size(); ++next_) {
      if (steps_[next_].transfer == nullptr) {
        steps_[next_].work();
      } else {
        const Part part = steps_[next_].part;
        if (part != Part::finish) before(*steps_[next_].transfer);
        timed([part](Transfer& transfer) {
          part == Part::whole ? transfer.run() : part == Part::launch ? transfer.start() : transfer.wait();
        });
      }
    }
    clear();
  }
  void run() {
    run([](Transfer&) {});
  }

  // Goes on as far as the next exchange, which it leaves under way.
  void begin() {
    for (; next_ < steps_.size(); ++next_) {
      const Part part = steps_[next_].part;
      if (steps_[next_].transfer == nullptr) {
        steps_[next_].work();
        continue;
      }
      if (part != Part::finish) timed([](Transfer& transfer) { transfer.start(); });
      if (part != Part::launch) return;
    }
    clear();
  }
  // True when all of it is done; goes on with what does not wait for others.
  [[nodiscard]] bool test() {
    while (!steps_.empty()) {
      bool done = false;
      timed([&](Transfer& transfer) { done = transfer.test(); });
      if (!done) return false;
      ++next_;
      begin();
    }
    return true;
  }
  // Every exchange is started and waited for, as `test` does on a rank that got there first.
  void end() {
    while (!steps_.empty()) {
      timed([](Transfer& transfer) { transfer.wait(); });
      ++next_;
      begin();
    }
  }

 private:
  enum class Part { whole, launch, finish };
  struct Step {
    std::function<void()> work;
    Transfer* transfer;
    double* seconds;
    Part part;
  };
  // Takes over what a stream does until it would wait; false when nothing is left of it.
  bool take_turn(Stages& stream) {
    for (bool has_begun = false; stream.next_ < stream.steps_.size(); has_begun = true) {
      Step& step = stream.steps_[stream.next_];
      if (step.part == Part::finish && has_begun) return true;
      const bool waits = step.transfer != nullptr && step.part == Part::whole;
      steps_.push_back(step);
      if (waits) {
        steps_.back().part = Part::launch;
        step.part = Part::finish;
        return true;
      }
      ++stream.next_;
    }
    return false;
  }
  template <class Call>
  void timed(Call call) {
    const Step& step = steps_[next_];
    const double start_s = steady_s();
    call(*step.transfer);
    if (step.seconds != nullptr) *step.seconds += steady_s() - start_s;
  }
  void clear() {
    steps_.clear();
    next_ = 0;
  }

  std::vector<Step> steps_;
  std::size_t next_ = 0;
};

}  // namespace rankwise
