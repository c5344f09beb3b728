"""A small run of LAMMPS: a Lennard-Jones crystal that melts."""


def melt(box: str, more: str = "") -> str:
    """Return the input for a box of so many lattice cells ("8 6 4"); `more`: lines before it runs."""
    x, y, z = box.split()
    return f"""units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {x} 0 {y} 0 {z}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
{more}run 60
"""
