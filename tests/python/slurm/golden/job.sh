#!/bin/bash
#SBATCH --job-name=osu
#SBATCH --partition=lva
#SBATCH --account=p1
#SBATCH --nodes=2
#SBATCH --ntasks=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=1:30:00
#SBATCH --array=1-10%1
#SBATCH --dependency=afterok:7
#SBATCH --mail-user=me@example.org
#SBATCH --mail-type=END
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
#SBATCH --output=log-%A_%a.txt
#SBATCH --open-mode=append
#SBATCH --constraint=skylake

set -euo pipefail

module load openmpi/3.1.6

export OMP_NUM_THREADS=1
export NOTE='it'"'"'s two words'

# Each task of the array has its own results.
mkdir -p "task-$SLURM_ARRAY_TASK_ID" && cd "task-$SLURM_ARRAY_TASK_ID"

# When Slurm has put the job back into the queue (a node died, say): go on with what was measured.
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] && [ -s m.samples.jsonl ]; then set -- --resume; else set --; fi
# In place of the shell, so that SIGTERM (time limit, scancel) reaches it and nothing that was measured is lost.
exec /opt/bin/rankwise measure -o m.json --seconds 3 "$@"
