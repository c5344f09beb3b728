! CloverLeaf's exchange by rankwise: any of its 15 fields, one or two cells deep. For one tile a chunk.
subroutine port(fields, depth)
  use mpi
  use data_module
  use definitions_module
  use rankwise_halo
  use, intrinsic :: iso_c_binding, only: c_associated, c_null_ptr, c_ptr
  implicit none
  integer :: fields(:), depth, error
  type(c_ptr), save :: halo(2) = c_null_ptr
  type(rankwise_field), save :: field(15)

  error = 0
  if (.not. c_associated(halo(depth))) call create()
  call rankwise_halo_start(halo(depth), error, active=fields(:15) == 1)
  if (error == 0) call rankwise_halo_wait(halo(depth), error)
  if (error /= 0) error stop "rankwise refuses CloverLeaf's halo"

contains

  subroutine create()
    type(rankwise_halo_options) :: options
    integer :: columns, x, y, ordered, cart
    associate (own => chunk%tiles(1)%field, beside => chunk%chunk_neighbours)
      call describe(FIELD_DENSITY0, own%density0, [0, 0])
      call describe(FIELD_DENSITY1, own%density1, [0, 0])
      call describe(FIELD_ENERGY0, own%energy0, [0, 0])
      call describe(FIELD_ENERGY1, own%energy1, [0, 0])
      call describe(FIELD_PRESSURE, own%pressure, [0, 0])
      call describe(FIELD_VISCOSITY, own%viscosity, [0, 0])
      call describe(FIELD_SOUNDSPEED, own%soundspeed, [0, 0])
      call describe(FIELD_XVEL0, own%xvel0, [1, 1])
      call describe(FIELD_XVEL1, own%xvel1, [1, 1])
      call describe(FIELD_YVEL0, own%yvel0, [1, 1])
      call describe(FIELD_YVEL1, own%yvel1, [1, 1])
      call describe(FIELD_VOL_FLUX_X, own%vol_flux_x, [1, 0])
      call describe(FIELD_VOL_FLUX_Y, own%vol_flux_y, [0, 1])
      call describe(FIELD_MASS_FLUX_X, own%mass_flux_x, [1, 0])
      call describe(FIELD_MASS_FLUX_Y, own%mass_flux_y, [0, 1])
      columns = parallel%max_task                                            ! of chunks, numbered from 1 along x first
      if (beside(chunk_top) /= external_face) columns = beside(chunk_top) - parallel%task - 1
      if (beside(chunk_bottom) /= external_face) columns = parallel%task + 1 - beside(chunk_bottom)
    end associate
    x = mod(parallel%task, columns)
    y = parallel%task / columns
    call MPI_Comm_split(MPI_COMM_WORLD, 0, x * (parallel%max_task / columns) + y, ordered, error)
    call MPI_Cart_create(ordered, 2, [columns, parallel%max_task / columns], [.false., .false.], .false., cart, error)
    call rankwise_halo_options_default(options)
    options%lower = depth
    options%upper = depth
    call rankwise_halo_create(cart, field, options, halo(depth), error)
  end subroutine

  subroutine describe(number, array, shared)
    integer, intent(in) :: number, shared(2)
    real(8), target, intent(in) :: array(:, :)
    call rankwise_halo_field(field(number), array, [2, 2], [2, 2], error)
    field(number)%overlap(:2) = shared
  end subroutine
end subroutine
