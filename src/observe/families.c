#define _GNU_SOURCE
#include "families.h"

#include "handles.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct family mpi;

static void* library;  // of an MPI that came by dlopen and is not among the program's own libraries

enum { MAX_FOUND = 8 };
struct found {
  char* path[MAX_FOUND];
  int count;
};

static int visit_object(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct found* found = data;
  const char* name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (name && strncmp(name, "/libmpi", 7) == 0 && found->count < MAX_FOUND) {
    found->path[found->count++] = strdup(info->dlpi_name);
  }
  return 0;
}

static void find_library(void) {
  struct found found = {.count = 0};
  dl_iterate_phdr(visit_object, &found);
  for (int i = 0; i < found.count; i++) {
    void* handle = library ? NULL : dlopen(found.path[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle && dlsym(handle, "MPI_Get_library_version")) library = handle;
    free(found.path[i]);
  }
}

void* mpi_symbol(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  if (symbol) return symbol;
  if (!library) find_library();
  return library ? dlsym(library, name) : NULL;
}

// Data of the MPI's: a program may have its own copy of it, which the MPI uses, too.
static word mpi_data(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  return (word)(symbol ? symbol : mpi_symbol(name));
}

int family_find(void) {
  void* version = mpi_symbol("MPI_Get_library_version");
  if (!version) return 0;
  word open_world = mpi_data("ompi_mpi_comm_world");
  Dl_info file;
  if (open_world) {
    mpi = (struct family){.number = OPEN_MPI,
                          .handle_mask = ~(word)0,
                          .handle_bytes = 8,
                          .status_bytes = 24,
                          .source_at = 0,
                          .tag_at = 4,
                          .proc_null = -2,
                          .any_source = -1,
                          .any_tag = -1,
                          .in_place = 1,
                          .status_ignore = 0,
                          .cart = 1,
                          .graph = 2,
                          .dist_graph = 3,
                          .thread_multiple = 3,
                          .other_error = 16,
                          .world = open_world,
                          .byte_type = mpi_data("ompi_mpi_byte"),
                          .null_request = mpi_data("ompi_request_null"),
                          .null_comm = mpi_data("ompi_mpi_comm_null")};
  } else if (dladdr(version, &file) && strstr(file.dli_fname, "mpi_abi")) {
    mpi = (struct family){.number = MPI_ABI,
                          .handle_mask = ~(word)0,
                          .handle_bytes = 8,
                          .status_bytes = 32,
                          .source_at = 0,
                          .tag_at = 4,
                          .proc_null = -3,
                          .any_source = -1,
                          .any_tag = -2,
                          .in_place = 1,
                          .status_ignore = 0,
                          .cart = 211,
                          .graph = 212,
                          .dist_graph = 213,
                          .thread_multiple = 4096,
                          .other_error = 16,
                          .world = 0x101,
                          .byte_type = 0x247,
                          .null_request = 0x180,
                          .null_comm = 0x100};
  } else {
    mpi = (struct family){.number = MPICH,
                          .handle_mask = 0xffffffff,
                          .handle_bytes = 4,
                          .status_bytes = 20,
                          .source_at = 8,
                          .tag_at = 12,
                          .proc_null = -1,
                          .any_source = -2,
                          .any_tag = -1,
                          .in_place = (word)-1,
                          .status_ignore = 1,
                          .cart = 2,
                          .graph = 1,
                          .dist_graph = 3,
                          .thread_multiple = 3,
                          .other_error = 15,
                          .world = 0x44000000,
                          .byte_type = 0x4c00010d,
                          .null_request = 0x2c000000,
                          .null_comm = 0x04000000};
  }
  return 1;
}

const char* const call_names[CALL_COUNT] = {
#define CALL(flavour, name, n, handler, timed, extra, letters) "MPI_" #name,
#include "calls.h"
    "MPI_Init", "MPI_Finalize"};

static const char* const call_letters[CALL_COUNT] = {
#define CALL(flavour, name, n, handler, timed, extra, letters) letters,
#include "calls.h"
    "", ""};

void* originals[CALL_COUNT][4];
char absent_mark;

void* find_original(int call, int profiling, int big) {
  char name[80];
  snprintf(name, sizeof name, "%s%s%s", profiling ? "P" : "", call_names[call], big ? "_c" : "");
  void* function = mpi_symbol(name);
  if (!function && profiling) function = mpi_symbol(name + 1);
  if (!function) function = ABSENT;
  originals[call][profiling * 2 + big] = function;
  return function;
}

int invoke_words(void* function, int n, const word* a) {
  typedef int function_of_14(word, word, word, word, word, word, word, word, word, word, word, word, word, word);
  word b[14] = {0};
  memcpy(b, a, (size_t)n * sizeof *a);
  return ((function_of_14*)function)(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13]);
}

void keep_until_later(void* memory) {
  static void* kept[4096];
  static unsigned next;
  free(kept[next]);
  kept[next] = memory;
  next = (next + 1) % 4096;
}

// An array of big counts as ints; null where one does not fit.
static int32_t* narrowed(word array, int64_t length) {
  int32_t* plain = malloc((size_t)(length ? length : 1) * sizeof *plain);
  for (int64_t i = 0; plain && i < length; i++) {
    int64_t value = ((const int64_t*)array)[i];
    plain[i] = (int32_t)value;
    if (value != plain[i]) {
      free(plain);
      return NULL;
    }
  }
  return plain;
}

int call_absent(const struct site* site, word* a) {
  void* plain = site->big ? original(site->call, site->profiling, 0) : ABSENT;
  if (plain == ABSENT) return mpi.other_error;
  word b[14];
  void* made[4];
  int arrays = 0, result = mpi.other_error, is_request = 0;
  const char* letters = call_letters[site->call];
  const char* at_comm = strchr(letters, 'c');
  int root_at = strchr(letters, 'N') ? site->extra >> 16 : 0;
  word comm = at_comm ? a[at_comm - letters] : 0;
  int significant = !root_at || is_root(comm, (int32_t)a[root_at]);
  int of_neighbors = strstr(call_names[site->call], "eighbor") != NULL;
  for (int i = 0; i < site->arguments; i++) {
    char letter = letters[i];
    int sent = i <= 2;
    b[i] = a[i];
    if (letter == 'n' && (int64_t)a[i] != (int32_t)a[i]) goto done;
    if (letter == 'q') is_request = 1;
    if ((letter != 'N' && letter != 'D') || !significant || !a[i]) continue;
    if (sent && a[0] == mpi.in_place) continue;
    int32_t* array = narrowed(a[i], of_neighbors ? entries_of_neighbors(comm, sent) : entries_of(comm));
    if (!array) goto done;
    made[arrays++] = array;
    b[i] = (word)array;
  }
  result = invoke_words(plain, site->arguments, b);
done:
  for (int i = 0; i < arrays; i++) {
    if (is_request && result == 0) {
      keep_until_later(made[i]);
    } else {
      free(made[i]);
    }
  }
  return result;
}
