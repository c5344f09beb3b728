/* Loads Python after its first calls of MPI, and runs code in it: EMBEDDED_LIBRARY and EMBEDDED_CODE. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  void *library = dlopen(getenv("EMBEDDED_LIBRARY"), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return 1;
  void (*begin)(void);
  int (*run)(const char *);
  *(void **)&begin = dlsym(library, "Py_Initialize");
  *(void **)&run = dlsym(library, "PyRun_SimpleString");
  begin();
  int failed = run(getenv("EMBEDDED_CODE"));
  MPI_Finalize();
  return failed;
}
