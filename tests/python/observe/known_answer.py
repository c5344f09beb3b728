"""The messages of known_answer.c, through mpi4py."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
out, into = np.zeros(4096, "b"), np.zeros(4096, "b")

world.Sendrecv(out[:100], right, 1, into[:100], left, 1)
requests = [world.Irecv(into[:64].view("d"), left, 2), world.Isend(out[:64].view("d"), right, 2)]
MPI.Request.Waitall(requests)
requests = [world.Irecv(into[:10], MPI.ANY_SOURCE, 3), world.Issend(out[:10], right, 3)]
while not MPI.Request.Testall(requests):
    pass
request = world.Irecv(into[:7], left, MPI.ANY_TAG)
world.Send(out[:7], right, 4)
request.Wait()
requests = [world.Recv_init(into[:20], left, 5), world.Send_init(out[:20], right, 5)]
for _ in range(3):
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
for request in requests:
    request.Free()
for kind, tag in ((MPI.INT.Create_vector(3, 2, 4), 6), (MPI.INT.Create_contiguous(5), 7)):
    kind.Commit()
    world.Sendrecv([out, 1, kind], right, tag, [into, 1, kind], left, tag)
    kind.Free()
for turn in (-1, 1):
    other = world.Split(0, turn * rank)
    me = other.Get_rank()
    other.Sendrecv(out[:11], (me + turn) % size, 8, into[:11], (me - turn) % size, 8)
    other.Free()
world.Send(out[:99], MPI.PROC_NULL, 9)
cart = world.Create_cart([size], [True], False)
cart.Neighbor_alltoall(out[:32].view("i"), into[:32].view("i"))
cart.Free()
graph = world.Create_dist_graph_adjacent([left], [right])
graph.Neighbor_alltoallv([out, ([33], [0]), MPI.BYTE], [into, ([33], [0]), MPI.BYTE])
graph.Free()
window = MPI.Win.Create(into, 1, MPI.INFO_NULL, world)
window.Fence()
window.Put(out[:12], right)
window.Get(out[100:113], right, 100)
window.Fence()
window.Free()
request = world.Isend(out[:9], right, 10)
message = world.Mprobe(left, 10)
message.Recv(into[:9])
request.Wait()
total = np.zeros(1)
world.Allreduce(np.ones(1), total)
world.Bcast(out[:50], 1)
world.Barrier()
world.Barrier()
if rank == 0:
    print("ranks", size, "sum", int(total[0]))
