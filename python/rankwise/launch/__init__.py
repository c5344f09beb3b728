"""Starting ranks: the MPI library and launcher of this machine, and the kernels run under them."""

from rankwise.launch.mpi import Mpi, find_mpi, mismatch_cure, result_of, stream_kernel, trial

__all__ = ["Mpi", "find_mpi", "mismatch_cure", "result_of", "stream_kernel", "trial"]
