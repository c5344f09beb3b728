// Calls of MPI that a program makes under SMPI, listed in simulated time: compiled with -include record.h and linked with record.c.
#pragma once
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif
int rec_Init(int*, char***);
int rec_Init_thread(int*, char***, int, int*);
int rec_Finalize(void);
int rec_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int rec_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int rec_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int rec_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int rec_Sendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int rec_Wait(MPI_Request*, MPI_Status*);
int rec_Waitall(int, MPI_Request*, MPI_Status*);
int rec_Waitany(int, MPI_Request*, int*, MPI_Status*);
int rec_Barrier(MPI_Comm);
int rec_Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
int rec_Reduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int rec_Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int rec_Alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int rec_Comm_split(MPI_Comm, int, int, MPI_Comm*);
int rec_Comm_dup(MPI_Comm, MPI_Comm*);
#ifdef __cplusplus
}
#endif

#ifndef RECORD_C
#undef MPI_Init
#undef MPI_Init_thread
#undef MPI_Finalize
#undef MPI_Isend
#undef MPI_Irecv
#undef MPI_Send
#undef MPI_Recv
#undef MPI_Sendrecv
#undef MPI_Wait
#undef MPI_Waitall
#undef MPI_Waitany
#undef MPI_Barrier
#undef MPI_Bcast
#undef MPI_Reduce
#undef MPI_Allreduce
#undef MPI_Alltoall
#undef MPI_Comm_split
#undef MPI_Comm_dup
#define MPI_Init rec_Init
#define MPI_Init_thread rec_Init_thread
#define MPI_Finalize rec_Finalize
#define MPI_Isend rec_Isend
#define MPI_Irecv rec_Irecv
#define MPI_Send rec_Send
#define MPI_Recv rec_Recv
#define MPI_Sendrecv rec_Sendrecv
#define MPI_Wait rec_Wait
#define MPI_Waitall rec_Waitall
#define MPI_Waitany rec_Waitany
#define MPI_Barrier rec_Barrier
#define MPI_Bcast rec_Bcast
#define MPI_Reduce rec_Reduce
#define MPI_Allreduce rec_Allreduce
#define MPI_Alltoall rec_Alltoall
#define MPI_Comm_split rec_Comm_split
#define MPI_Comm_dup rec_Comm_dup
#endif
