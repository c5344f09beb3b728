// Handles of MPI as Fortran has them.
#pragma once

#include <mpi.h>

#include "rankwise/rankwise.h"

namespace rankwise::api {

#if MPI_VERSION >= 5
inline MPI_Comm comm_of(rankwise_fint handle) { return MPI_Comm_fromint(handle); }
inline MPI_Datatype type_of(rankwise_fint handle) { return MPI_Type_fromint(handle); }
inline MPI_Op op_of(rankwise_fint handle) { return MPI_Op_fromint(handle); }
inline MPI_Info info_of(rankwise_fint handle) { return MPI_Info_fromint(handle); }
inline rankwise_fint handle_of(MPI_Comm comm) { return MPI_Comm_toint(comm); }
#else
inline MPI_Comm comm_of(rankwise_fint handle) { return MPI_Comm_f2c(handle); }
inline MPI_Datatype type_of(rankwise_fint handle) { return MPI_Type_f2c(handle); }
inline MPI_Op op_of(rankwise_fint handle) { return MPI_Op_f2c(handle); }
inline MPI_Info info_of(rankwise_fint handle) { return MPI_Info_f2c(handle); }
inline rankwise_fint handle_of(MPI_Comm comm) { return MPI_Comm_c2f(comm); }
#endif

}  // namespace rankwise::api
