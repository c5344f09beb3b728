#define _GNU_SOURCE
#include "families.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct family mpi;

static void* library;  // of an MPI that came by dlopen and is not among the program's own libraries

enum { MAX_FOUND = 8 };
struct found {
  char* path[MAX_FOUND];
  int count;
};

static int look_at(struct dl_phdr_info* info, size_t size, void* data) {
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
  dl_iterate_phdr(look_at, &found);
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
