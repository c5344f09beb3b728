"""Starting ranks: the MPI library and launcher of this machine, and the kernels run under them."""
