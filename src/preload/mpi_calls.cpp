// The functions of MPI that this library calls, each passed on to the program's MPI, which is looked up at the first call. They
// are visible in this library alone.
#include <initializer_list>

#include "preload/look_up.hpp"

// name, parameters, arguments
#define RANKWISE_CALLS(CALL)                                                                                                   \
  CALL(MPI_Allgather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),                      \
       (s, n, t, r, m, u, c))                                                                                                  \
  CALL(MPI_Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))               \
  CALL(MPI_Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))                                  \
  CALL(MPI_Cart_get, (MPI_Comm c, int n, int d[], int p[], int at[]), (c, n, d, p, at))                                        \
  CALL(MPI_Cart_shift, (MPI_Comm c, int axis, int by, int* from, int* to), (c, axis, by, from, to))                            \
  CALL(MPI_Cartdim_get, (MPI_Comm c, int* n), (c, n))                                                                          \
  CALL(MPI_Comm_call_errhandler, (MPI_Comm c, int e), (c, e))                                                                  \
  CALL(MPI_Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm * d), (c, g, d))                                                    \
  CALL(MPI_Comm_create_keyval, (MPI_Comm_copy_attr_function * f, MPI_Comm_delete_attr_function * d, int* k, void* x),          \
       (f, d, k, x))                                                                                                           \
  CALL(MPI_Comm_dup, (MPI_Comm c, MPI_Comm * d), (c, d))                                                                       \
  CALL(MPI_Comm_free, (MPI_Comm * c), (c))                                                                                     \
  CALL(MPI_Comm_get_attr, (MPI_Comm c, int k, void* v, int* f), (c, k, v, f))                                                  \
  CALL(MPI_Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler * e), (c, e))                                                      \
  CALL(MPI_Comm_group, (MPI_Comm c, MPI_Group * g), (c, g))                                                                    \
  CALL(MPI_Comm_rank, (MPI_Comm c, int* r), (c, r))                                                                            \
  CALL(MPI_Comm_set_attr, (MPI_Comm c, int k, void* v), (c, k, v))                                                             \
  CALL(MPI_Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler e), (c, e))                                                        \
  CALL(MPI_Comm_size, (MPI_Comm c, int* n), (c, n))                                                                            \
  CALL(MPI_Comm_split, (MPI_Comm c, int colour, int key, MPI_Comm* d), (c, colour, key, d))                                    \
  CALL(MPI_Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm* d), (c, type, key, i, d))                    \
  CALL(MPI_Comm_test_inter, (MPI_Comm c, int* f), (c, f))                                                                      \
  CALL(MPI_Dist_graph_neighbors, (MPI_Comm c, int n, int s[], int w[], int m, int d[], int x[]), (c, n, s, w, m, d, x))        \
  CALL(MPI_Dist_graph_neighbors_count, (MPI_Comm c, int* n, int* m, int* w), (c, n, m, w))                                     \
  CALL(MPI_Errhandler_free, (MPI_Errhandler * e), (e))                                                                         \
  CALL(MPI_Error_string, (int e, char* text, int* n), (e, text, n))                                                            \
  CALL(MPI_Exscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))                  \
  CALL(MPI_Finalized, (int* f), (f))                                                                                           \
  CALL(MPI_Gather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c),               \
       (s, n, t, r, m, u, root, c))                                                                                            \
  CALL(MPI_Gatherv,                                                                                                            \
       (const void* s, int n, MPI_Datatype t, void* r, const int m[], const int at[], MPI_Datatype u, int root, MPI_Comm c),   \
       (s, n, t, r, m, at, u, root, c))                                                                                        \
  CALL(MPI_Get_count, (const MPI_Status* s, MPI_Datatype t, int* n), (s, t, n))                                                \
  CALL(MPI_Graph_neighbors, (MPI_Comm c, int rank, int n, int d[]), (c, rank, n, d))                                           \
  CALL(MPI_Graph_neighbors_count, (MPI_Comm c, int rank, int* n), (c, rank, n))                                                \
  CALL(MPI_Group_compare, (MPI_Group g, MPI_Group h, int* result), (g, h, result))                                             \
  CALL(MPI_Group_free, (MPI_Group * g), (g))                                                                                   \
  CALL(MPI_Info_get, (MPI_Info i, const char* key, int n, char* value, int* f), (i, key, n, value, f))                         \
  CALL(MPI_Initialized, (int* f), (f))                                                                                         \
  CALL(MPI_Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r), (b, n, t, from, tag, c, r)) \
  CALL(MPI_Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r),                         \
       (b, n, t, to, tag, c, r))                                                                                               \
  CALL(MPI_Pack, (const void* b, int n, MPI_Datatype t, void* o, int size, int* at, MPI_Comm c), (b, n, t, o, size, at, c))    \
  CALL(MPI_Recv_init, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),                         \
       (b, n, t, from, tag, c, r))                                                                                             \
  CALL(MPI_Request_free, (MPI_Request * r), (r))                                                                               \
  CALL(MPI_Scatter, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c),              \
       (s, n, t, r, m, u, root, c))                                                                                            \
  CALL(MPI_Scatterv,                                                                                                           \
       (const void* s, const int n[], const int at[], MPI_Datatype t, void* r, int m, MPI_Datatype u, int root, MPI_Comm c),   \
       (s, n, at, t, r, m, u, root, c))                                                                                        \
  CALL(MPI_Send, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))                   \
  CALL(MPI_Sendrecv,                                                                                                           \
       (const void* s, int n, MPI_Datatype t, int to, int tag, void* r, int m, MPI_Datatype u, int from, int tag2, MPI_Comm c, \
        MPI_Status* status),                                                                                                   \
       (s, n, t, to, tag, r, m, u, from, tag2, c, status))                                                                     \
  CALL(MPI_Start, (MPI_Request * r), (r))                                                                                      \
  CALL(MPI_Test, (MPI_Request * r, int* f, MPI_Status* s), (r, f, s))                                                          \
  CALL(MPI_Testall, (int n, MPI_Request r[], int* f, MPI_Status s[]), (n, r, f, s))                                            \
  CALL(MPI_Topo_test, (MPI_Comm c, int* kind), (c, kind))                                                                      \
  CALL(MPI_Type_dup, (MPI_Datatype t, MPI_Datatype * d), (t, d))                                                               \
  CALL(MPI_Type_free, (MPI_Datatype * t), (t))                                                                                 \
  CALL(MPI_Type_get_contents, (MPI_Datatype t, int i, int a, int d, int n[], MPI_Aint m[], MPI_Datatype e[]),                  \
       (t, i, a, d, n, m, e))                                                                                                  \
  CALL(MPI_Type_get_envelope, (MPI_Datatype t, int* i, int* a, int* d, int* k), (t, i, a, d, k))                               \
  CALL(MPI_Type_get_extent, (MPI_Datatype t, MPI_Aint * l, MPI_Aint * e), (t, l, e))                                           \
  CALL(MPI_Type_size, (MPI_Datatype t, int* n), (t, n))                                                                        \
  CALL(MPI_Type_size_x, (MPI_Datatype t, MPI_Count * n), (t, n))                                                               \
  CALL(MPI_Unpack, (const void* b, int size, int* at, void* o, int n, MPI_Datatype t, MPI_Comm c), (b, size, at, o, n, t, c))  \
  CALL(MPI_Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))

#define RANKWISE_PASS_ON(NAME, PARAMETERS, ARGUMENTS)                                                    \
  extern "C" int NAME PARAMETERS {                                                                       \
    static const auto original = reinterpret_cast<int(*) PARAMETERS>(rankwise::preload::look_up(#NAME)); \
    return original != nullptr ? original ARGUMENTS : MPI_ERR_OTHER;                                     \
  }
RANKWISE_CALLS(RANKWISE_PASS_ON)

// Handles by number: functions in the MPI-5 ABI and in Open MPI.
#define RANKWISE_HANDLE(RESULT, NAME, FROM, NONE)                                                       \
  extern "C" RESULT NAME(FROM handle) {                                                                 \
    static const auto original = reinterpret_cast<RESULT (*)(FROM)>(rankwise::preload::look_up(#NAME)); \
    return original != nullptr ? original(handle) : NONE;                                               \
  }
#if defined(MPI_ABI)
RANKWISE_HANDLE(MPI_Comm, MPI_Comm_fromint, int, MPI_COMM_NULL)
RANKWISE_HANDLE(int, MPI_Comm_toint, MPI_Comm, 0)
#elif defined(OPEN_MPI)
RANKWISE_HANDLE(MPI_Comm, MPI_Comm_f2c, MPI_Fint, MPI_COMM_NULL)
RANKWISE_HANDLE(MPI_Fint, MPI_Comm_c2f, MPI_Comm, 0)
#endif

namespace rankwise::preload {

const char* lacking() noexcept {
#define RANKWISE_NAME(NAME, PARAMETERS, ARGUMENTS) #NAME,
  for (const char* name : {RANKWISE_CALLS(RANKWISE_NAME)}) {
    if (look_up(name) == nullptr) return name;
  }
  return nullptr;
}

}  // namespace rankwise::preload
