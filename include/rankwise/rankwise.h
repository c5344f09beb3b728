/* rankwise: communication of process grids, chosen and explained.
 *
 * One header for C11, C++ and, through ISO_C_BINDING and the functions that end in _f, Fortran.
 *
 * Life of an exchange (docs/c-api.md has an example):
 *
 *     rankwise_exchange_create       a plan from a Cartesian communicator and a cutoff      collective
 *     rankwise_exchange_set_sizes    how many elements this rank's box holds now            collective
 *     rankwise_exchange_import_*     the blocks of all boxes of the window come here        collective
 *     rankwise_exchange_reduce_*     what was added to the ghosts goes back and is summed   collective
 *     rankwise_exchange_destroy      frees the plan                                         collective
 *
 * Words. A rank owns one box of the process grid. Its window is the boxes within `cutoff` layers on each axis (all of
 * them: full shell; those at offsets 0..cutoff only: eighth shell), its own one included. A slot is one place of the
 * window, numbered 0 .. slots-1; the slot of offset o belongs to the rank at own coordinates + o. Where a periodic
 * axis is shorter than the window, several slots are images of one box. A block is the elements of one box; an element
 * (a particle, a cell) is any fixed number of consecutive bytes.
 *
 * Rules. "Collective": all ranks of the communicator call it, in the same order. create and set_sizes agree on the
 * outcome: an error on one rank is returned on all of them, and nobody hangs. Functions print nothing unless
 * RANKWISE_VERBOSE=1, use no communicator but a duplicate of the given one, and throw nothing. MPI must be initialised,
 * and the plan destroyed before it is finalised. MPI_THREAD_SINGLE is enough as long as one thread makes the calls
 * (MPI_THREAD_FUNNELED or SERIALIZED with more threads); different plans may be used by different threads at once
 * under MPI_THREAD_MULTIPLE. One plan is used by one thread at a time.
 */
#ifndef RANKWISE_RANKWISE_H
#define RANKWISE_RANKWISE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* One of these says which MPI's ABI the library has; its CMake package and its .pc file define it. */
#if (defined(RANKWISE_FOR_MPI_ABI) && !defined(MPI_ABI_VERSION)) || (defined(RANKWISE_FOR_OPEN_MPI) && !defined(OPEN_MPI)) || \
    (defined(RANKWISE_FOR_MPICH) && (!defined(MPICH_NAME) || defined(MPI_ABI_VERSION)))
#error \
    "this rankwise was built with another MPI than this mpi.h belongs to: take that one's mpicc, or build rankwise with yours"
#endif

#if defined(__GNUC__)
#define RANKWISE_API __attribute__((visibility("default")))
#else
#define RANKWISE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A Fortran handle (an INTEGER), as the functions that end in _f take them. */
#if MPI_VERSION >= 5
typedef int rankwise_fint; /* the header of the MPI ABI knows no MPI_Fint */
#else
typedef MPI_Fint rankwise_fint;
#endif

/* Results ---------------------------------------------------------------------------------------------------------- */

/* What came of a call: whose fault it was. */
typedef enum rankwise_result {
  RANKWISE_SUCCESS = 0,
  RANKWISE_ERROR_ARGUMENT = 1,    /* the caller's: an argument has no meaning, or differs between ranks */
  RANKWISE_ERROR_USAGE = 2,       /* the caller's: calls out of order, as import started twice, or use after destroy */
  RANKWISE_ERROR_UNSUPPORTED = 3, /* nobody's: a meaningful request that rankwise does not serve */
  RANKWISE_ERROR_MEMORY = 4,      /* the machine's: no memory left */
  RANKWISE_ERROR_MPI = 5,         /* MPI's: see rankwise_last_mpi_error */
  RANKWISE_ERROR_INTERNAL = 6     /* ours: please report it */
} rankwise_result;

/* A short English name of a result; never NULL. Not collective. */
RANKWISE_API const char* rankwise_result_string(rankwise_result result);

/* One line on the last error of the calling thread: what is wrong and the fix. Empty when there was none; valid until
 * the thread's next call of rankwise. Where the ranks agreed on an error, it names the rank that found it. */
RANKWISE_API const char* rankwise_last_error(void);

/* The MPI error code behind the thread's last RANKWISE_ERROR_MPI (for MPI_Error_string); MPI_SUCCESS before one. */
RANKWISE_API int rankwise_last_mpi_error(void);

/* Version of the library, and of this header, as 10000 major + 100 minor + patch. The one place where it is written. */
#define RANKWISE_VERSION_MAJOR 0
#define RANKWISE_VERSION_MINOR 2
#define RANKWISE_VERSION_PATCH 0
#define RANKWISE_VERSION (10000 * RANKWISE_VERSION_MAJOR + 100 * RANKWISE_VERSION_MINOR + RANKWISE_VERSION_PATCH)
RANKWISE_API int rankwise_version(void);

/* Options ---------------------------------------------------------------------------------------------------------- */

/* How the blocks travel. */
typedef enum rankwise_algorithm {
  RANKWISE_ALGORITHM_AUTO = 0,              /* the fastest by the profile RANKWISE_PROFILE; explain says why */
  RANKWISE_ALGORITHM_DIRECT = 1,            /* one message a partner, all in flight together */
  RANKWISE_ALGORITHM_NEIGHBOR_ALLTOALL = 2, /* one neighbourhood collective of MPI */
  RANKWISE_ALGORITHM_SHIFT = 3,             /* axis by axis, from neighbour to neighbour: fewest messages */
  RANKWISE_ALGORITHM_COMB = 4,              /* axis by axis, straight to the receivers */
  RANKWISE_ALGORITHM_TEAM_SHIFT = 5,        /* teams of ranks pool their boxes; only with rankwise_exchange_visit */
  RANKWISE_ALGORITHM_STRIPED = 6,           /* one message a pair of nodes (MPI_COMM_TYPE_SHARED), dealt over their ranks */
  RANKWISE_ALGORITHM_LEADER = 7,            /* the same, all by the first rank of each node */
  RANKWISE_ALGORITHM_TWO_STEP = 8,          /* every block once to each node that needs it, handed out there */
  RANKWISE_ALGORITHM_SHIFT_POSTED = 9       /* shift; every receive is posted before the blocking send of its hop */
} rankwise_algorithm;

typedef enum rankwise_shell {
  RANKWISE_SHELL_FULL = 0,  /* offsets -cutoff..cutoff on each axis */
  RANKWISE_SHELL_EIGHTH = 1 /* offsets 0..cutoff: each pair of boxes meets on one rank, forces go back by reduce */
} rankwise_shell;

/* Which MPI calls send. */
typedef enum rankwise_send_mode {
  RANKWISE_SEND_AUTO = 0,       /* chosen with the algorithm; isend where that is named */
  RANKWISE_SEND_SSEND = 1,      /* MPI_Ssend, one message at a time */
  RANKWISE_SEND_SEND = 2,       /* MPI_Send, in the same order */
  RANKWISE_SEND_ISEND = 3,      /* MPI_Isend, all messages of a step together */
  RANKWISE_SEND_ISEND_SELF = 4, /* MPI_Isend, forwarding whatever has arrived */
  RANKWISE_SEND_PERSISTENT = 5  /* MPI_Send_init; pays while the buffers stay the same from call to call */
} rankwise_send_mode;

/* Options of a plan, alike on all ranks. Fill them with rankwise_exchange_options_default, then change some: a program
 * that was compiled against an older header keeps working, for what it does not know keeps its default. */
typedef struct rankwise_exchange_options {
  size_t struct_size;          /* set by rankwise_exchange_options_default; do not change */
  int algorithm;               /* a rankwise_algorithm; default RANKWISE_ALGORITHM_AUTO */
  int send_mode;               /* a rankwise_send_mode; default RANKWISE_SEND_AUTO */
  int shell;                   /* a rankwise_shell; default RANKWISE_SHELL_FULL */
  int replication;             /* team-shift: ranks per team (c), 1 .. ranks; default 1 */
  size_t expected_block_bytes; /* auto: bytes of a typical block; default 4096 */
} rankwise_exchange_options;

/* Fills *options with the defaults. Not collective. Pass sizeof *options: the macro does. */
RANKWISE_API rankwise_result rankwise_exchange_options_init(rankwise_exchange_options* options, size_t struct_size);
#define rankwise_exchange_options_default(options) rankwise_exchange_options_init((options), sizeof(rankwise_exchange_options))

/* Life of a plan --------------------------------------------------------------------------------------------------- */

/* A plan. NULL is no plan. */
typedef struct rankwise_exchange_plan* rankwise_exchange;

/* Makes a plan; collective. cart: a communicator from MPI_Cart_create (its periods count), used only to duplicate it.
 * cutoff: ndims layers, each >= 1, alike on all ranks; ndims must be that of the communicator. options: NULL for the
 * defaults. *plan is NULL unless the call succeeds.
 * ARGUMENT: no Cartesian topology, other ndims, cutoff < 1, replication that does not fit, unknown enumerators,
 * arguments that differ between ranks. UNSUPPORTED: a combination of algorithm, shell and send mode that does not exist. */
RANKWISE_API rankwise_result rankwise_exchange_create(MPI_Comm cart, int ndims, const int cutoff[],
                                                      const rankwise_exchange_options* options, rankwise_exchange* plan);
RANKWISE_API rankwise_result rankwise_exchange_create_f(rankwise_fint cart, int ndims, const int cutoff[],
                                                        const rankwise_exchange_options* options, rankwise_exchange* plan);

/* Says how many elements this rank's block holds and tells the neighbours; collective. They may differ between ranks
 * and calls, and may be 0. element_bytes: the most bytes an element has in a later import or reduce, alike on all
 * ranks. ARGUMENT: sizes whose messages would pass 2^31-1 bytes. USAGE: while an import or reduce is under way. */
RANKWISE_API rankwise_result rankwise_exchange_set_sizes(rankwise_exchange plan, size_t elements, size_t element_bytes);

/* Frees the plan and sets *plan to NULL; collective. A NULL *plan is no error. What is under way is completed first. */
RANKWISE_API rankwise_result rankwise_exchange_destroy(rankwise_exchange* plan);

/* Moving data ------------------------------------------------------------------------------------------------------ */

/* Starts to bring the blocks of the window here; collective. element_bytes: bytes of an element now, 1 .. the
 * element_bytes of set_sizes, alike on all ranks. The buffers stay untouched by the caller until import_wait.
 * window: all blocks in the order of the slots with nothing between them; block s starts at element
 * rankwise_exchange_slot_start(plan, s). The caller has put the own block into the own slot.
 * Algorithms of several steps advance only inside import_wait. USAGE: sizes not set, or something is under way. */
RANKWISE_API rankwise_result rankwise_exchange_import_start(rankwise_exchange plan, void* window, size_t element_bytes);
/* The same with one pointer a slot (slots of them; NULL where the block is empty): each block lands where the caller
 * wants it. The array itself may go after the call. */
RANKWISE_API rankwise_result rankwise_exchange_import_blocks_start(rankwise_exchange plan, void* const blocks[],
                                                                   size_t element_bytes);
/* Completes the import. USAGE: none was started. */
RANKWISE_API rankwise_result rankwise_exchange_import_wait(rankwise_exchange plan);

/* Starts to send what lies in the ghost slots back to its owners, where it is combined into the own block by op, in an
 * order that is the same in every call; collective. type: an intrinsic type of op; an element is values_per_element of
 * them. op: commutative. Ghost slots hold partial sums of no meaning afterwards. Otherwise as import. */
RANKWISE_API rankwise_result rankwise_exchange_reduce_start(rankwise_exchange plan, void* window, int values_per_element,
                                                            MPI_Datatype type, MPI_Op op);
RANKWISE_API rankwise_result rankwise_exchange_reduce_start_f(rankwise_exchange plan, void* window, int values_per_element,
                                                              rankwise_fint type, rankwise_fint op);
RANKWISE_API rankwise_result rankwise_exchange_reduce_blocks_start(rankwise_exchange plan, void* const blocks[],
                                                                   int values_per_element, MPI_Datatype type, MPI_Op op);
RANKWISE_API rankwise_result rankwise_exchange_reduce_blocks_start_f(rankwise_exchange plan, void* const blocks[],
                                                                     int values_per_element, rankwise_fint type,
                                                                     rankwise_fint op);
RANKWISE_API rankwise_result rankwise_exchange_reduce_wait(rankwise_exchange plan);

/* Two boxes that meet in rankwise_exchange_visit. Pointers are valid during the callback only. */
typedef struct rankwise_visit {
  const void* own; /* block of a box of this rank's team */
  void* result;    /* what the visit adds up for that box */
  size_t own_elements;
  int own_rank;         /* whose box it is */
  const void* visiting; /* block of the other box */
  size_t visiting_elements;
  int visiting_rank;
  const int* offset; /* from the one to the other, in boxes, one number an axis; all 0: a box meets itself */
} rankwise_visit;
typedef void (*rankwise_visit_function)(const rankwise_visit* visit, void* context);

/* Lets boxes meet without building a window; collective, returns when all is done. Only for team-shift plans after
 * set_sizes. Over all ranks, each box meets each box of its full window exactly once, as `own` on some rank of its
 * team. own: this rank's block, element_bytes an element. What the callbacks add to visit->result (which starts as
 * zero bytes) is combined over the team by op, whose neutral element must be zero bytes (MPI_SUM, MPI_BOR ...), and
 * then combined into this rank's result: a block of values_per_element values of an intrinsic type an element. */
RANKWISE_API rankwise_result rankwise_exchange_visit(rankwise_exchange plan, const void* own, size_t element_bytes,
                                                     void* result, int values_per_element, MPI_Datatype type, MPI_Op op,
                                                     rankwise_visit_function visit, void* context);
RANKWISE_API rankwise_result rankwise_exchange_visit_f(rankwise_exchange plan, const void* own, size_t element_bytes,
                                                       void* result, int values_per_element, rankwise_fint type,
                                                       rankwise_fint op, rankwise_visit_function visit, void* context);

/* Questions; none of them collective ------------------------------------------------------------------------------- */

/* Writes text on the plan: the algorithm and why it was chosen, messages and bytes of this rank. Writes at most
 * capacity bytes, the last one NUL; *length (may be NULL) gets the bytes that the whole text needs, NUL included. */
RANKWISE_API rankwise_result rankwise_exchange_explain(rankwise_exchange plan, char* text, size_t capacity, size_t* length);

/* The number of slots of the window, and which one is the own. Team-shift plans keep no window: what follows is
 * UNSUPPORTED for them. */
RANKWISE_API rankwise_result rankwise_exchange_slots(rankwise_exchange plan, int* slots);
RANKWISE_API rankwise_result rankwise_exchange_own_slot(rankwise_exchange plan, int* slot);

/* A slot of an offset (ndims numbers, in boxes), and back. ARGUMENT: outside the window. */
RANKWISE_API rankwise_result rankwise_exchange_slot_of_offset(rankwise_exchange plan, const int offset[], int* slot);
RANKWISE_API rankwise_result rankwise_exchange_offset_of_slot(rankwise_exchange plan, int slot, int offset[]);

/* The rank whose block belongs in a slot; MPI_PROC_NULL beyond an open border (such a slot stays empty). */
RANKWISE_API rankwise_result rankwise_exchange_slot_rank(rankwise_exchange plan, int slot, int* rank);

/* How often the way to a slot crosses the periodic border of each axis (ndims numbers, negative downwards): add
 * crossings x domain length to imported positions to have them in this rank's frame. */
RANKWISE_API rankwise_result rankwise_exchange_slot_crossings(rankwise_exchange plan, int slot, int crossings[]);

/* Elements of the block in a slot, and elements in the slots before it; after set_sizes. start of slot `slots` is the
 * number of elements of the whole window. */
RANKWISE_API rankwise_result rankwise_exchange_slot_elements(rankwise_exchange plan, int slot, size_t* elements);
RANKWISE_API rankwise_result rankwise_exchange_slot_start(rankwise_exchange plan, int slot, size_t* elements);

/* Halos ------------------------------------------------------------------------------------------------------------ */

/* A halo is the elements around a rank's own that others own. One plan, two ways to make it: boxes of a grid (create), or
 * lists of elements (neighbors_create). Life (docs/halo.md has examples):
 *
 *     rankwise_halo_create, rankwise_neighbors_create          collective
 *     rankwise_halo_start ... rankwise_halo_wait               with the partners only: no collective, no memory taken
 *     rankwise_halo_reduce_start ... rankwise_halo_wait        the way back: ghosts are added to what their owners have
 *     rankwise_halo_destroy                                    collective
 *
 * All that goes to a rank is one message, whatever the number of fields and regions; a box's element goes to a rank once,
 * however many images of it that rank keeps; nothing is sent to oneself. One exchange can be under way in a plan. */
typedef struct rankwise_halo_plan* rankwise_halo;

#define RANKWISE_MAX_DIMS 6

/* One array on this rank. Fill it with rankwise_field_default or rankwise_field_array, then change some. */
typedef struct rankwise_field {
  size_t struct_size;                  /* set by rankwise_field_default; do not change */
  void* data;                          /* the first element that this rank owns, not the first of its halo */
  size_t element_bytes;                /* of one element, components that lie together included; default 8 */
  int ndims;                           /* boxes: the grid's axes first; further axes have no halo. Lists: 1 */
  int extent[RANKWISE_MAX_DIMS];       /* elements that this rank owns on each axis; of lists not used */
  ptrdiff_t stride[RANKWISE_MAX_DIMS]; /* bytes from an element to the next on each axis, of any sign */
  int overlap[RANKWISE_MAX_DIMS];      /* elements that neighbours both own on an axis (points on a face: 1); default 0 */
} rankwise_field;

/* Fills *field with the defaults. Not collective. Pass sizeof *field: the macro does. */
RANKWISE_API rankwise_result rankwise_field_init(rankwise_field* field, size_t struct_size);
#define rankwise_field_default(field) rankwise_field_init((field), sizeof(rankwise_field))

/* Describes a C array (the last axis fastest) of extent[a] elements on each axis with lower[a] before and upper[a] behind
 * them; the field must have been filled with the defaults. Not collective. */
RANKWISE_API rankwise_result rankwise_field_array(rankwise_field* field, void* array, size_t element_bytes, int ndims,
                                                  const int extent[], const int lower[], const int upper[]);

/* How the elements of a halo travel. */
typedef enum rankwise_halo_algorithm {
  RANKWISE_HALO_AUTO = 0,       /* chosen for the partners and bytes at hand; explain says why */
  RANKWISE_HALO_DIRECT = 1,     /* one message to each rank that needs anything, all in flight together */
  RANKWISE_HALO_STAGED = 2,     /* axis by axis, edges and corners along with the faces: fewest messages */
  RANKWISE_HALO_PERSISTENT = 3, /* direct, by MPI's persistent requests */
  RANKWISE_HALO_WINDOW = 4,     /* ranks of a node read each other's arrays (rankwise_halo_alloc); direct between nodes */
  /* Few messages between nodes: each rank sends one to each node, whose ranks hand out what came; */
  RANKWISE_HALO_TWO_STEP = 5,
  RANKWISE_HALO_THREE_STEP = 6, /* one message between two nodes, gathered and handed out by ranks in turn; */
  RANKWISE_HALO_LEADER = 7      /* or all by the first rank of each node */
} rankwise_halo_algorithm;

/* Options of a halo of boxes, alike on all ranks; as rankwise_exchange_options. RANKWISE_HALO in the environment ("staged",
 * "two-step" ...) decides what is left to auto. */
typedef struct rankwise_halo_options {
  size_t struct_size;           /* set by rankwise_halo_options_default; do not change */
  int algorithm;                /* a rankwise_halo_algorithm; default RANKWISE_HALO_AUTO */
  int corners;                  /* 1: edges and corners, too; 0: faces only; default 1 */
  int lower[RANKWISE_MAX_DIMS]; /* widths before the own elements on each axis of the grid, 0 allowed; default 1 */
  int upper[RANKWISE_MAX_DIMS]; /* widths behind them */
  int exchanges;                /* about how many will be made: where several algorithms may be the fastest, auto tries them in
                                   the first of these, until that has cost the time of one in a hundred, and some of those
                                   starts are collective; 0: never; default 4000 */
} rankwise_halo_options;

RANKWISE_API rankwise_result rankwise_halo_options_init(rankwise_halo_options* options, size_t struct_size);
#define rankwise_halo_options_default(options) rankwise_halo_options_init((options), sizeof(rankwise_halo_options))

/* Makes the halo of the boxes of a grid; collective. cart: from MPI_Cart_create (its periods count), used only to duplicate
 * it. fields: at most 64, the same on all ranks but for extents, strides and addresses; data may still be NULL. Boxes may
 * differ in extent from rank to rank, but ranks side by side on an axis have the same extent on all others. Where a width
 * passes the neighbour's extent, the ranks behind it serve the rest; elements beyond an open border stay as they are.
 * ARGUMENT: no Cartesian topology, widths below 0, no field or one of too few axes, fields that share bytes, extents that
 * differ across a face, arguments that differ between ranks. UNSUPPORTED: a halo over more than 64 boxes on an axis, staged
 * without corners. *halo is NULL unless the call succeeds. */
RANKWISE_API rankwise_result rankwise_halo_create(MPI_Comm cart, int nfields, const rankwise_field fields[],
                                                  const rankwise_halo_options* options, rankwise_halo* halo);
RANKWISE_API rankwise_result rankwise_halo_create_f(rankwise_fint cart, int nfields, const rankwise_field fields[],
                                                    const rankwise_halo_options* options, rankwise_halo* halo);

/* Memory for arrays whose halos ranks of the same node read straight from each other, in place of messages; auto does so where
 * all fields of a halo lie in it, on this node and those next to it in the grid. Zeros, page-aligned; nothing of it outlives
 * the process. Not collective; free it after the halos that use it. With it, a halo is complete when the partners of the node
 * have come to wait (or test), too: between start and wait no rank may wait for another but by MPI's messages that are on
 * their way. Fields of a later start must lie in such memory, too. ARGUMENT: memory that halo_alloc did not give. */
RANKWISE_API rankwise_result rankwise_halo_alloc(size_t bytes, void** memory);
RANKWISE_API rankwise_result rankwise_halo_free(void** memory);

/* Elements of an edge: count of them, those of index[0 .. count-1] or, where index is NULL, those from `first` on. */
typedef struct rankwise_list {
  size_t count;
  size_t first;
  const int* index;
} rankwise_list;

/* Makes a halo of lists; collective over comm. Edge e of this rank sends to rank dest[e] under the number skey[e], and its
 * receive edge e gets what rank source[e] sends under rkey[e]: both ends name an edge by the same key. Several edges
 * between two ranks (of different keys), edges to oneself, MPI_PROC_NULL and none at all are all right. Set the lists next.
 * ARGUMENT, on all ranks: an edge of which the other end knows nothing, a key twice between two ranks, a rank that does
 * not exist. */
RANKWISE_API rankwise_result rankwise_neighbors_create(MPI_Comm comm, int nsend, const int dest[], const int skey[], int nrecv,
                                                       const int source[], const int rkey[], rankwise_halo* halo);
RANKWISE_API rankwise_result rankwise_neighbors_create_f(rankwise_fint comm, int nsend, const int dest[], const int skey[],
                                                         int nrecv, const int source[], const int rkey[], rankwise_halo* halo);

/* How the messages of a halo of lists travel from now on: direct (the default), persistent, two-step, three-step, leader or
 * auto; what is sent back goes straight. Collective. After auto the next start is collective, too: it asks the judge for the
 * bytes at hand, and where several may be the fastest a trial follows, as of boxes with 4000 exchanges to come. Ask again where
 * bytes have changed much. UNSUPPORTED: others. */
RANKWISE_API rankwise_result rankwise_neighbors_algorithm(rankwise_halo halo, int algorithm);

/* Says which elements each edge sends and where what comes is put, from now on; the lists are copied. All ranks call it:
 * partners tell each other their counts, a small message each, nothing collective. recv may be NULL: what comes is left in
 * the plan's memory, see rankwise_halo_received. After rankwise_neighbors_capacity the call is local and nothing is told.
 * ARGUMENT: counts that differ between the two ends of an edge, named with both ranks and the key, on both of them. */
RANKWISE_API rankwise_result rankwise_neighbors_lists(rankwise_halo halo, const rankwise_list send[],
                                                      const rankwise_list recv[]);

/* Says where what comes is put, from now on: after rankwise_neighbors_lists, which tells how many that are on each edge
 * (rankwise_halo_received). Local: nothing is told. ARGUMENT: a count that is another one. */
RANKWISE_API rankwise_result rankwise_neighbors_places(rankwise_halo halo, const rankwise_list recv[]);

/* From now on the counts may be others in every exchange: they travel inside the messages, and what comes stays in the
 * plan's memory. bytes: of each receive edge, as much as usually comes. All ranks call it; partners tell each other, a
 * small message each. More than the capacity is right, too: it takes a second message, once, for both ends then raise the
 * capacity to the next power of two. */
RANKWISE_API rankwise_result rankwise_neighbors_capacity(rankwise_halo halo, const size_t bytes[]);

/* Where what came over a receive edge lies, and how many elements: of field `field` of the last exchange, until the next
 * one starts. Not for edges whose elements were put where a list said. where NULL: the number alone, known as soon as the
 * lists are set (after capacity: of the last exchange). Not collective. */
RANKWISE_API rankwise_result rankwise_halo_received(rankwise_halo halo, int edge, int field, size_t* elements,
                                                    const void** where);

/* Starts to bring the halo here. fields: of boxes NULL (nfields 0) for those of create, or the same with other addresses;
 * of lists, any fields, element i being at data + i * stride[0], alike in number and element_bytes on all partners.
 * active: NULL, or one flag a field: those that move now, alike on all ranks. Own elements must not change, nor the halo be
 * touched, until wait. Partners must call it; nothing is collective. Takes no memory but for messages longer than any
 * before. USAGE: something is under way, lists not set. */
RANKWISE_API rankwise_result rankwise_halo_start(rankwise_halo halo, int nfields, const rankwise_field fields[],
                                                 const int active[]);

/* Starts to send what the halo holds back to its owners, where it is combined into their elements by op, in ascending
 * order of the ranks that it comes from, the same in every call; the halo keeps what it has. type: an intrinsic type that
 * the elements of all active fields are made of; op commutes. Otherwise as start; complete it with wait. Lists: not after
 * capacity, and recv lists must have been given. */
RANKWISE_API rankwise_result rankwise_halo_reduce_start(rankwise_halo halo, int nfields, const rankwise_field fields[],
                                                        const int active[], MPI_Datatype type, MPI_Op op);
RANKWISE_API rankwise_result rankwise_halo_reduce_start_f(rankwise_halo halo, int nfields, const rankwise_field fields[],
                                                          const int active[], rankwise_fint type, rankwise_fint op);

/* Completes what was started; test: as far as it goes without waiting, *done = 1 when all is there (then no wait is
 * needed, and one does no harm). ARGUMENT: a message of another length than its receiver expects, with both ranks; the
 * plan can then only be destroyed. USAGE: nothing was started. */
RANKWISE_API rankwise_result rankwise_halo_wait(rankwise_halo halo);
RANKWISE_API rankwise_result rankwise_halo_test(rankwise_halo halo, int* done);

/* Text on the halo, as rankwise_exchange_explain. */
RANKWISE_API rankwise_result rankwise_halo_explain(rankwise_halo halo, char* text, size_t capacity, size_t* length);

/* Writes the pattern of the halo to a file, as JSON (docs/halo.md): who sends how much to whom. Collective; the first rank
 * writes, and needs memory that grows with the messages of all. ARGUMENT: a file that cannot be written, lists not set. */
RANKWISE_API rankwise_result rankwise_halo_save(rankwise_halo halo, const char* path);

/* Frees the halo and sets *halo to NULL; collective. What is under way is completed first. */
RANKWISE_API rankwise_result rankwise_halo_destroy(rankwise_halo* halo);

/* 3-D FFTs --------------------------------------------------------------------------------------------------------- */

/* The 3-D Fourier transform of an array that is divided among the ranks of a communicator. Life (docs/fft.md has examples):
 *
 *     rankwise_fft_create                            a plan                                                         collective
 *     rankwise_fft_boxes, rankwise_fft_elements      what this rank holds of the array and of its spectrum: then allocate
 *     rankwise_fft_forward, rankwise_fft_backward    from the caller's memory into the caller's memory              collective
 *     rankwise_fft_begin ... test ... end            the same, and the caller computes meanwhile                    collective
 *     rankwise_fft_destroy                                                                                          collective
 *
 * Words. `in` is the side of the array, `out` that of the spectrum, in both directions. Axis 2 is the fastest. Forward is
 * sum over x of f(x) exp(-2 pi i k x / n); neither direction divides: both multiply by `scale`. An element is a real or a
 * complex value (two reals). Real arrays have a spectrum of n[0] x n[1] x (n[2] / 2 + 1) points.
 *
 * Every call that is collective agrees on its outcome: an error on one rank is returned on all of them, and nobody hangs. The
 * local FFTs are those of FFTW or MKL, loaded at run time; planning holds a lock, but cannot protect from a program that plans
 * with the same library by itself in another thread. */
typedef struct rankwise_fft_plan* rankwise_fft;

/* A rank's part: points lower[a] .. lower[a] + size[a] - 1 of axis a, row-major; a size of 0: none. */
typedef struct rankwise_fft_box {
  int64_t lower[3];
  int64_t size[3];
} rankwise_fft_box;

typedef enum rankwise_fft_kind {
  RANKWISE_FFT_COMPLEX = 0, /* complex array, complex spectrum */
  RANKWISE_FFT_REAL = 1     /* real array, complex spectrum of its non-negative half along axis 2 */
} rankwise_fft_kind;
typedef enum rankwise_fft_precision { RANKWISE_FFT_DOUBLE = 0, RANKWISE_FFT_SINGLE = 1 } rankwise_fft_precision;
typedef enum rankwise_fft_order {
  RANKWISE_FFT_TRANSPOSED = 0, /* the spectrum stays where the transform leaves it, axis 0 whole: half the messages */
  RANKWISE_FFT_NATURAL = 1     /* the spectrum is divided as the array is */
} rankwise_fft_order;
typedef enum rankwise_fft_method {
  RANKWISE_FFT_AUTO = 0,
  RANKWISE_FFT_ALLTOALL = 1,  /* MPI's collective */
  RANKWISE_FFT_PAIRWISE = 2,  /* one message a step */
  RANKWISE_FFT_NODE_AWARE = 3 /* one message from node to node, gathered and handed out within them; on one node as ALLTOALL */
} rankwise_fft_method;
typedef enum rankwise_fft_effort {
  RANKWISE_FFT_EFFORT_MODEL = 0,  /* ways by the cost model, local FFTs by a guess; memory at the first transform */
  RANKWISE_FFT_EFFORT_TRIALS = 1, /* create times local FFTs and the best few ways, on memory of its own */
  RANKWISE_FFT_EFFORT_PATIENT = 2 /* the same, local FFTs at length */
} rankwise_fft_effort;

/* Options of a plan; as rankwise_exchange_options. All but the strides are alike on all ranks. */
typedef struct rankwise_fft_options {
  size_t struct_size; /* set by rankwise_fft_options_default; do not change */
  int kind;           /* a rankwise_fft_kind; default RANKWISE_FFT_COMPLEX */
  int precision;      /* a rankwise_fft_precision; default RANKWISE_FFT_DOUBLE */
  int order;          /* a rankwise_fft_order, where the caller gives no boxes out; default RANKWISE_FFT_TRANSPOSED */
  int method;         /* a rankwise_fft_method; default RANKWISE_FFT_AUTO */
  int effort;         /* a rankwise_fft_effort; default RANKWISE_FFT_EFFORT_TRIALS */
  int in_place;       /* 1: in and out are the same memory. Lines of a real array that lies in the plan's own boxes then have
                         room for 2 (n[2] / 2 + 1) reals; default 0 */
  int batch;          /* fields that every call transforms; default 1 */
  int grid[2];        /* p1 x p2 ranks; 0, 0: auto; default 0, 0 */
  int64_t stride_in;  /* elements from one field to the next on the side in (of this rank); 0: one after the other */
  int64_t stride_out;
  int chunks;    /* slices of a slab whose exchange is under way while the next ones are transformed, for a third array of
                         memory; 1: none, 0: auto; default 0 */
  int together;  /* fields of a batch whose blocks travel as one message, for as many times the plan's memory; 1: each its
                         own, 0: auto; default 0 */
  int in_flight; /* 2: while one group of fields together is exchanged the next one is transformed, for twice the plan's
                         memory; 1: one after the other, 0: auto; default 0 */
} rankwise_fft_options;

RANKWISE_API rankwise_result rankwise_fft_options_init(rankwise_fft_options* options, size_t struct_size);
#define rankwise_fft_options_default(options) rankwise_fft_options_init((options), sizeof(rankwise_fft_options))

/* Makes a plan; collective. What EFFORT_TRIALS and EFFORT_PATIENT find out is kept for the next plan of the same kind, in
 * RANKWISE_FFT_KNOWLEDGE (a folder; empty: nothing is kept) or the user's cache, by processor. comm: any communicator of one
 * group, used only to duplicate it. n: points an axis. in, out: the
 * box that this rank holds of the array and of the spectrum, any that together cover all points once; NULL, on all ranks: as
 * the plan likes it, which costs no redistribution. *plan is NULL unless the call succeeds.
 * ARGUMENT: an axis without points or of more than 2^20, a batch below 1, boxes that overlap, reach beyond the axes or leave
 * holes, a grid of other ranks, strides shorter than a field, arguments that differ between ranks. UNSUPPORTED: no FFT library
 * is there (the message says what to install). MEMORY: EFFORT_TRIALS and EFFORT_PATIENT take the plan's buffers. */
RANKWISE_API rankwise_result rankwise_fft_create(MPI_Comm comm, const int64_t n[3], const rankwise_fft_box* in,
                                                 const rankwise_fft_box* out, const rankwise_fft_options* options,
                                                 rankwise_fft* plan);
RANKWISE_API rankwise_result rankwise_fft_create_f(rankwise_fint comm, const int64_t n[3], const rankwise_fft_box* in,
                                                   const rankwise_fft_box* out, const rankwise_fft_options* options,
                                                   rankwise_fft* plan);

/* This rank's boxes; either may be NULL. Not collective. */
RANKWISE_API rankwise_result rankwise_fft_boxes(rankwise_fft plan, rankwise_fft_box* in, rankwise_fft_box* out);

/* The elements of the memory of all fields on each side, padding of lines and strides included; in place the larger of the two
 * in bytes serves both. Either may be NULL. Not collective. */
RANKWISE_API rankwise_result rankwise_fft_elements(rankwise_fft plan, int64_t* in, int64_t* out);

/* Transforms all fields; collective. forward: from the array `in` to the spectrum `out`; backward the other way; what is
 * read is left as it was unless the two are one. in_bytes, out_bytes: the memory that lies there, 0 elements may be NULL.
 * ARGUMENT: less memory than the elements need, memory that overlaps without in_place. USAGE: something is under way. */
RANKWISE_API rankwise_result rankwise_fft_forward(rankwise_fft plan, const void* in, size_t in_bytes, void* out,
                                                  size_t out_bytes, double scale);
RANKWISE_API rankwise_result rankwise_fft_backward(rankwise_fft plan, const void* out, size_t out_bytes, void* in,
                                                   size_t in_bytes, double scale);

/* Starts a transform (forward: 1 or 0) up to its first exchange and returns; collective. There is no thread behind it: a
 * caller that computes for long calls test now and then, or end does most of the work. test: *done is 1 when the transform is
 * complete; end is called all the same. The memory is not touched by the caller until then. test and end must be called on
 * all ranks, in any number, but wait for no other rank's program but these calls. */
RANKWISE_API rankwise_result rankwise_fft_begin(rankwise_fft plan, int forward, const void* from, size_t from_bytes, void* into,
                                                size_t into_bytes, double scale);
RANKWISE_API rankwise_result rankwise_fft_test(rankwise_fft plan, int* done);
RANKWISE_API rankwise_result rankwise_fft_end(rankwise_fft plan);

/* What was chosen and why, what was tried, this rank's boxes, messages and memory; as rankwise_exchange_explain. */
RANKWISE_API rankwise_result rankwise_fft_explain(rankwise_fft plan, char* text, size_t capacity, size_t* length);

/* Frees the plan and sets *plan to NULL; collective. A NULL *plan is no error. What is under way is completed first. */
RANKWISE_API rankwise_result rankwise_fft_destroy(rankwise_fft* plan);

/* Mapping ---------------------------------------------------------------------------------------------------------- */

/* A Cartesian communicator as MPI_Cart_create makes it (Hunold et al. 2020, listing 1), in which few messages of a
 * stencil cross nodes; collective over oldcomm. reorder = 0: the ranks keep their order. Otherwise each rank takes the
 * cell that a mapping gives it; nodes are what MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) tells, of any size and with
 * any ranks. stencil: k offsets of ndims components each, to which every cell sends; k = 0 (stencil may be NULL) means
 * the nearest neighbours. The grid may be smaller than oldcomm: the ranks beyond it get MPI_COMM_NULL. All arguments
 * alike on all ranks. cartcomm handles errors as oldcomm does.
 *
 * The mapping is named by RANKWISE_MAPPING in the environment (an id as in `rankwise map`); auto, the default, takes the
 * best of all, and leaves the ranks where they are when nothing is gained. Of refined and auto one rank searches, as
 * long as RANKWISE_EFFORT says (10ms, 1s), else as long as the messages to be saved are worth; it needs memory that grows
 * with the number of ranks. All others compute their own cell alone.
 *
 * Returns MPI_SUCCESS, or an MPI error code alike on all ranks (rankwise_last_error says what is wrong): it never calls
 * an error handler. *cartcomm is MPI_COMM_NULL then. */
RANKWISE_API int MPIX_Cart_stencil_comm(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                        const int stencil[], int k, MPI_Comm* cartcomm);
RANKWISE_API int MPIX_Cart_stencil_comm_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[], int reorder,
                                          const int stencil[], int k, rankwise_fint* cartcomm);

/* The same with rankwise's results and two more arguments. weights: NULL, or what a message to each of the k offsets
 * counts, 1 to 2^20. info: MPI_INFO_NULL, or keys that go before the environment: rankwise_mapping, rankwise_effort. */
RANKWISE_API rankwise_result rankwise_cart_create(MPI_Comm oldcomm, int ndims, const int dims[], const int periods[],
                                                  int reorder, const int stencil[], int k, const int weights[], MPI_Info info,
                                                  MPI_Comm* cartcomm);
RANKWISE_API rankwise_result rankwise_cart_create_f(rankwise_fint oldcomm, int ndims, const int dims[], const int periods[],
                                                    int reorder, const int stencil[], int k, const int weights[],
                                                    rankwise_fint info, rankwise_fint* cartcomm);

/* How many messages of the stencil cross nodes when rank r of comm has cell r of the grid (row-major, as in a Cartesian
 * communicator): over all nodes (*j_sum), and from the node that sends most (*j_max); each message counts its weight.
 * Collective; comm has a rank for each cell. Ask it of oldcomm for the score before, and of cartcomm for that after. */
RANKWISE_API rankwise_result rankwise_stencil_score(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                                                    const int stencil[], int k, const int weights[], long long* j_sum,
                                                    long long* j_max);
RANKWISE_API rankwise_result rankwise_stencil_score_f(rankwise_fint comm, int ndims, const int dims[], const int periods[],
                                                      const int stencil[], int k, const int weights[], long long* j_sum,
                                                      long long* j_max);

/* Communicators with the topology of any graph, as MPI_Dist_graph_create_adjacent, MPI_Dist_graph_create and
 * MPI_Graph_create make them: where reorder is not 0, rank r of *newcomm is a process of a node that suits the neighbours of
 * r, so that little weight lies between nodes (those of MPI_COMM_TYPE_SHARED, of any size). The ranks stay where they are
 * when nothing is gained. Always a new communicator: ranks of oldcomm keep their meaning, and are other ones than those of
 * *newcomm. Collective; reorder alike on all ranks, and so the whole graph of rankwise_graph_create. weights: NULL or
 * MPI_UNWEIGHTED: all 1. One rank searches and holds the whole graph. info: also rankwise_effort (10ms, 1s; else
 * RANKWISE_EFFORT): the search ends by the clock then; else it takes up to a fifth of a second, with the same map each time.
 * *newcomm handles errors as oldcomm does, and is MPI_COMM_NULL on an error and beyond the graph. ARGUMENT: ranks that do not
 * exist, negative weights or degrees. */
RANKWISE_API rankwise_result rankwise_dist_graph_create_adjacent(MPI_Comm oldcomm, int indegree, const int sources[],
                                                                 const int sourceweights[], int outdegree,
                                                                 const int destinations[], const int destweights[],
                                                                 MPI_Info info, int reorder, MPI_Comm* newcomm);
RANKWISE_API rankwise_result rankwise_dist_graph_create_adjacent_f(rankwise_fint oldcomm, int indegree, const int sources[],
                                                                   const int sourceweights[], int outdegree,
                                                                   const int destinations[], const int destweights[],
                                                                   rankwise_fint info, int reorder, rankwise_fint* newcomm);
RANKWISE_API rankwise_result rankwise_dist_graph_create(MPI_Comm oldcomm, int n, const int sources[], const int degrees[],
                                                        const int destinations[], const int weights[], MPI_Info info,
                                                        int reorder, MPI_Comm* newcomm);
RANKWISE_API rankwise_result rankwise_dist_graph_create_f(rankwise_fint oldcomm, int n, const int sources[],
                                                          const int degrees[], const int destinations[], const int weights[],
                                                          rankwise_fint info, int reorder, rankwise_fint* newcomm);
RANKWISE_API rankwise_result rankwise_graph_create(MPI_Comm oldcomm, int nnodes, const int index[], const int edges[],
                                                   int reorder, MPI_Comm* newcomm);
RANKWISE_API rankwise_result rankwise_graph_create_f(rankwise_fint oldcomm, int nnodes, const int index[], const int edges[],
                                                     int reorder, rankwise_fint* newcomm);

/* The mapping alone, without MPI; not collective. Vertex v sends weights[e] (NULL: 1) to targets[e] for first[v] <= e <
 * first[v + 1]; what it sends to itself does not count. node_of_vertex gets a node for each vertex, and each node exactly its
 * size, so that little weight lies between nodes. effort_s: after so many seconds the search ends, the first division included,
 * which is always made; with 0 it is all, and the map is the same each time. ARGUMENT: sizes that do not add up to the vertices,
 * and what has no meaning. */
RANKWISE_API rankwise_result rankwise_graph_map(int vertices, const int first[], const int targets[], const int weights[],
                                                int nodes, const int node_sizes[], double effort_s, int node_of_vertex[]);

#ifdef __cplusplus
}
#endif

#endif
