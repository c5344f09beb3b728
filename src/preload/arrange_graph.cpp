// Graphs of neighbours that a program gives MPI: arranged as the C API does it.
#include <string>

#include "api/failure.hpp"
#include "api/graph.hpp"
#include "preload/arrange.hpp"
#include "preload/look_up.hpp"
#include "preload/told.hpp"

namespace rankwise::preload {

namespace {

bool left_as_it_is(const char* name, const std::string& why) {
  remember_left(Topology::graph, (std::string(name) + " is left as it is: " + why).c_str());
  return false;
}

template <class Make>
bool arranged(const char* name, Handle comm, void* made, Make&& make) noexcept {
  try {
    static const char* const lacks = lacking();
    if (lacks != nullptr) return left_as_it_is(name, std::string("this MPI has no ") + lacks);
    if (made == nullptr || !is_ordinary(comm)) return left_as_it_is(name, "its communicator is not an ordinary one");
    api::Cut cut;
    *static_cast<MPI_Comm*>(made) = make(cut);
    const bool gains = cut.after < cut.before;
    count_placed(Topology::graph, gains ? "multisection" : nullptr);
    int rank = -1;
    MPI_Comm_rank((MPI_Comm)comm, &rank);
    if (rank != 0) return true;
    const std::string between = "weight " + std::to_string(cut.before);
    say((std::string(name) + ": " +
         (gains ? between + " between nodes becomes " + std::to_string(cut.after)
                : "the ranks stay where they are (" + between + " between nodes)"))
            .c_str());
    return true;
  } catch (...) {
    return left_as_it_is(name, api::current_failure().what());
  }
}

}  // namespace

bool arrange_graph(Handle comm, Handle info, const api::Neighbours& neighbours, void* made) noexcept {
  return arranged("MPI_Dist_graph_create_adjacent", comm, made, [&](api::Cut& cut) {
    return api::make_dist_graph_adjacent((MPI_Comm)comm, neighbours, (MPI_Info)info, true, &cut);
  });
}

bool arrange_graph(Handle comm, Handle info, const api::Edges& edges, void* made) noexcept {
  return arranged("MPI_Dist_graph_create", comm, made,
                  [&](api::Cut& cut) { return api::make_dist_graph((MPI_Comm)comm, edges, (MPI_Info)info, true, &cut); });
}

bool arrange_graph(Handle comm, int vertices, const int index[], const int edges[], void* made) noexcept {
  return arranged("MPI_Graph_create", comm, made,
                  [&](api::Cut& cut) { return api::make_graph((MPI_Comm)comm, vertices, index, edges, true, &cut); });
}

}  // namespace rankwise::preload
