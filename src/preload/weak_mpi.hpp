// Included before everything else in each source of librankwise_preload.so: what it takes of MPI may be missing. The
// library is loaded into every program that is started under it, launchers and shells included, and must harm none.
#pragma once

// MPI's old C++ bindings would ask for more.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1

#pragma weak MPI_Allgather
#pragma weak MPI_Allreduce
#pragma weak MPI_Bcast
#pragma weak MPI_Cart_create
#pragma weak MPI_Cart_get
#pragma weak MPI_Cartdim_get
#pragma weak MPI_Comm_dup
#pragma weak MPI_Comm_free
#pragma weak MPI_Comm_get_errhandler
#pragma weak MPI_Comm_rank
#pragma weak MPI_Comm_set_errhandler
#pragma weak MPI_Comm_size
#pragma weak MPI_Comm_split
#pragma weak MPI_Comm_split_type
#pragma weak MPI_Comm_test_inter
#pragma weak MPI_Errhandler_free
#pragma weak MPI_Error_string
#pragma weak MPI_Exscan
#pragma weak MPI_Finalized
#pragma weak MPI_Gather
#pragma weak MPI_Info_get
#pragma weak MPI_Initialized
#pragma weak MPI_Irecv
#pragma weak MPI_Isend
#pragma weak MPI_Scatter
#pragma weak MPI_Topo_test
#pragma weak MPI_Waitall
// Handles: functions in the MPI-5 ABI and Open MPI's Fortran, data in Open MPI.
#pragma weak MPI_Comm_c2f
#pragma weak MPI_Comm_f2c
#pragma weak MPI_Comm_fromint
#pragma weak MPI_Comm_toint
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_errors_return
#pragma weak ompi_mpi_errhandler_null
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_int32_t
#pragma weak ompi_mpi_int64_t
#pragma weak ompi_mpi_op_max
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_op_sum
#pragma weak ompi_request_null
