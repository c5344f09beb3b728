#!/usr/bin/env bash
# The long flood (make fuzz), of SEED or of a new one: RUNS executions of the readers of profiles and platforms in C++, INPUTS
# mutated files for each Python reader.
# With clang 16 or later by libFuzzer, else by driver.cpp with the system's compiler. Ends with 0 where nothing broke.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${RUNS:-10000000} inputs=${INPUTS:-100000} python=${PYTHON:-.venv/bin/python} seed=${SEED:-$RANDOM}
echo "seed $seed"
out=build/fuzz
mkdir -p $out/corpus $out/objects
clang=$(for version in 21 20 19 18 17 16; do command -v clang++-$version && break; done || true)
flags="-std=c++20 -O1 -g1 -fno-sanitize-recover=all -ffunction-sections -Isrc -fsanitize=address,undefined,float-cast-overflow"
sources="tests/fuzz/profile.cpp src/cost/machine.cpp $(echo src/{grid,profile,schedule}/*.cpp)"
[ -n "$clang" ] && flags+=" -fsanitize=fuzzer-no-link" || sources+=" tests/fuzz/driver.cpp"
for source in $sources; do
  object=$out/objects/${source//\//_}.o
  [ "$object" -nt "$source" ] || printf '%s\n%s\n' "$source" "$object"
done | xargs --no-run-if-empty -P "$(nproc)" -n 2 sh -c "exec ${clang:-${CXX:-c++}} $flags -c \"\$0\" -o \"\$1\""
objects=$(for source in $sources; do echo "$out/objects/${source//\//_}.o"; done)
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=1:detect_leaks=0
if [ -n "$clang" ]; then
  $clang -fsanitize=fuzzer,address,undefined -Wl,--gc-sections $objects -o $out/profile
  $out/profile -runs="$runs" -seed="$seed" -max_len=2048 -timeout=60 -report_slow_units=2 -rss_limit_mb=300 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix=$out/ $out/corpus tests/fuzz/corpus/{profile,platform}
else
  ${CXX:-c++} -fsanitize=address,undefined -Wl,--gc-sections $objects -o $out/profile
  (ulimit -t $((runs / 500 + 60)) && $out/profile "$runs" "$seed" tests/fuzz/corpus/{profile,platform}/*)
fi
$python tests/fuzz/readers.py --inputs "$inputs" --seed "$seed" --keep $out/broken
$python tests/fuzz/arguments.py --seed "$seed" --lines "${LINES_OF_VERB:-10000}"
