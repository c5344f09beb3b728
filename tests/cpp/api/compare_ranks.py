"""Runs a Lennard-Jones example on several numbers of ranks and compares what it conserves.

Energies must agree between the runs within 1e-12 of their size, the energy of one run must not drift by more than
1e-5 of its size, and each component of the momentum must stay below 1e-12.
"""

import argparse
import subprocess
import sys

SAME_ENERGY = 1e-12
ENERGY_DRIFT = 1e-5
MOMENTUM = 1e-12


def run(mpiexec: str, ranks: int, program: str) -> dict[str, list[float]]:
    output = subprocess.run(
        [mpiexec, "-n", str(ranks), program], check=True, stdout=subprocess.PIPE, text=True, timeout=100
    ).stdout
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in output.splitlines()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--ranks", required=True, help="comma-separated")
    parser.add_argument("program")
    arguments = parser.parse_args()
    failures = []
    first: dict[str, list[float]] = {}
    for ranks in map(int, arguments.ranks.split(",")):
        found = run(arguments.mpiexec, ranks, arguments.program)
        first = first or found
        (start,), (end,) = found["energy_start"], found["energy_end"]
        apart = max(abs(found[key][0] / first[key][0] - 1) for key in ("energy_start", "energy_end"))
        drift = abs(end / start - 1)
        momentum = max(map(abs, found["momentum"]))
        print(f"{ranks} ranks: energy {end:.12e}, apart {apart:.1e}, drift {drift:.1e}, momentum {momentum:.1e}")
        if apart > SAME_ENERGY:
            failures.append(f"{ranks} ranks: energies differ by {apart:.1e} from those of the first run")
        if drift > ENERGY_DRIFT:
            failures.append(f"{ranks} ranks: the energy drifts by {drift:.1e}")
        if momentum > MOMENTUM:
            failures.append(f"{ranks} ranks: the momentum is {momentum:.1e}")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
