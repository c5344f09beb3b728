! miniGhost's exchanges by rankwise: all variables in one message (BSPMA) or each on its own (SVAF), of faces or, for stencils
! with diagonals, with edges and corners. Compiled behind miniGhost's modules.
subroutine port(grid, error)
  use mg_constants_mod
  use mg_options_mod
  use rankwise_halo
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_ptr, c_ptr
  implicit none
  real(mg_real), target, intent(inout) :: grid(0:nx + 1, 0:ny + 1, 0:nz + 1, *)
  integer, intent(out) :: error
  integer, parameter :: width(4) = [1, 1, 1, 0]
  type(c_ptr), save :: halo = c_null_ptr
  type(rankwise_field) :: field(1)
  integer :: variables

  variables = merge(nvars, 1, comm_method == comm_method_bspma)
  call rankwise_halo_field(field(1), grid(:, :, :, :variables), width, width, error)
  if (error == 0 .and. .not. c_associated(halo)) call create()
  if (error == 0) call rankwise_halo_start(halo, error, field)
  if (error == 0) call rankwise_halo_wait(halo, error)
  if (error /= 0) error stop "rankwise refuses miniGhost's halo"

contains

  subroutine create()
    type(rankwise_halo_options) :: options
    integer :: ordered, cart
    call rankwise_halo_options_default(options)
    if (stencil == stencil_2d5pt .or. stencil == stencil_3d7pt) options%corners = 0
    ! miniGhost's ranks count along x first, those of a Cartesian communicator along the last axis.
    call MPI_Comm_split(mpi_comm_mg, 0, (mod(mype, npx) * npy + mod(mype / npx, npy)) * npz + mype / npx / npy, ordered, error)
    call MPI_Cart_create(ordered, 3, [npx, npy, npz], [.false., .false., .false.], .false., cart, error)
    call rankwise_halo_create(cart, field, options, halo, error)
  end subroutine
end subroutine
