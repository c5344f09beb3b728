// The names under which Fortran programs call MPI. Each notes its caller, which the functions in C see as their MPI's binding
// alone, and goes on to the binding, which is looked for at the first call.
#define _GNU_SOURCE
#include "call_sites.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__thread uint64_t fortran_caller __attribute__((tls_model("initial-exec"), visibility("hidden")));

#if defined(__x86_64__)
// Of mpif.h and the module mpi; of mpi_f08 in Open MPI and MPICH.
#define FORTRAN(name) EACH(mpi_##name##_) EACH(mpi_##name##_f08_) EACH(mpi_##name##_f08ts_)

static const char* const names[] = {
#define EACH(symbol) #symbol,
#include "fortran_calls.h"
#undef EACH
};
enum { NAMES = sizeof names / sizeof *names };

void fortran_unknown(void) __attribute__((visibility("hidden")));
void* fortran_bindings[NAMES] __attribute__((visibility("hidden"))) = {[0 ... NAMES - 1] = (void*)fortran_unknown};

// The binding behind us, or of the library that calls where that keeps its MPI to itself.
__attribute__((used, visibility("hidden"))) void* fortran_find(void** binding) {
  const char* name = names[binding - fortran_bindings];
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info caller;
  if (!found && dladdr((void*)(uintptr_t)fortran_caller, &caller)) {
    void* library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    found = library ? dlsym(library, name) : NULL;
  }
  if (!found) {
    fprintf(stderr, "rankwise: %s was called, which no MPI of this program has\n", name);
    abort();
  }
  return *binding = found;
}

// r10 and r11 are free at a call, arguments are pointers and lengths.
#define EACH(symbol)                                          \
  ".globl " #symbol "\n.type " #symbol ",@function\n" #symbol \
  ":\n"                                                       \
  "movq fortran_caller@gottpoff(%rip), %r11\n"                \
  "movq (%rsp), %r10\n"                                       \
  "movq %r10, %fs:(%r11)\n"                                   \
  "leaq fortran_bindings+place(%rip), %r11\n"                 \
  "jmp *(%r11)\n"                                             \
  ".set place, place + 8\n"
__asm__(
    ".text\n"
    ".set place, 0\n"
#include "fortran_calls.h"
    "fortran_unknown:\n"
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %r11\n"
    "movq %r11, %rdi\n"
    "call fortran_find\n"
    "pop %r11\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
    "jmp *%rax\n");
#endif
