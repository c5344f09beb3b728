#!/bin/bash
# setup.sh VENV ON|OFF: makes the environment and installs rankwise into it; ON: with the C library, the preload library and the
# tracer, which Python otherwise builds on first use. What pip and compilers say is in build/setup.log.
set -euo pipefail
[ $# = 2 ] || { echo "usage: setup.sh VENV ON|OFF" >&2; exit 2; }
venv=$1 libraries=$2 stamp=$1/.installed
log=build/setup.log
[ "$libraries" = OFF ] || stamp+=-all

fail() {
  echo "rankwise: $*" >&2
  exit 1
}

# Run a command, with its words in the log; show those that tell how far it is, at most every 5 s where there is no terminal.
follow() {
  local title=$1 shown_s=$SECONDS line status=0
  shift
  "$@" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line" >> $log
    [[ $line =~ (\[[0-9]+/[0-9]+\]|Downloading|Installing)\ (.*/)?([^/]*) ]] || continue
    line="rankwise: $title: ${BASH_REMATCH[1]} ${BASH_REMATCH[3]}"
    if [ -t 1 ]; then
      printf '\r\e[K%.78s' "$line"
    elif ((SECONDS - shown_s >= 5)); then
      echo "$line" && shown_s=$SECONDS
    fi
  done || status=$?
  [ ! -t 1 ] || printf '\r\e[K'
  return $status
}

(mkdir -p build "$venv" && : >> $log && : >> "$venv/.lock") 2> /dev/null ||
  fail "$PWD cannot be written: clone it into a folder of your own (git clone '$PWD' ~/rankwise)"
[[ $PWD != *[\'\"\`\$\;\\]* ]] ||
  fail "$PWD has a quote, \$, ; or \\ in its name, which CMake takes apart: clone into another folder"
packaging/prerequisites.sh

# One at a time; who waited finds it done.
exec 9> "$venv/.lock"
if ! flock --nonblock 9; then
  echo "rankwise: another make is installing here: waiting for it"
  before=$(stat -c %Y "$stamp" 2> /dev/null || true)
  flock 9
  [ "$before" = "$(stat -c %Y "$stamp" 2> /dev/null || true)" ] || exit 0
fi
# All that is made on the way goes with us, however we end.
export TMPDIR=$PWD/build/tmp PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM HUP
rm -rf "$TMPDIR" && mkdir "$TMPDIR" && : > $log

began_s=$SECONDS
"${PYTHON:-python3}" -m venv "$venv" >> $log 2>&1 || fail "python3 -m venv fails: $(tail -1 $log)"
"$venv/bin/python" - > build/requirements.txt <<'PYTHON'
import sys
import sysconfig
import tomllib

with open("pyproject.toml", "rb") as file:
    asked = tomllib.load(file)
project = asked["project"]
print(f"# Python {sys.version_info[:2]}, {sysconfig.get_platform()}")
built_with = (one for one in asked["build-system"]["requires"] if not one.startswith("vl-convert"))  # of one script alone
print("ninja", *built_with, *project["dependencies"], *project["optional-dependencies"]["mpich"], sep="\n")
PYTHON
echo "rankwise: environment: $((SECONDS - began_s)) s"

began_s=$SECONDS
wheels=build/wheels pip=("$venv/bin/python" -m pip)
if ! cmp -s build/requirements.txt $wheels/requirements.txt; then
  follow download "${pip[@]}" download -d $wheels -r build/requirements.txt || fail "pip cannot get what rankwise needs" \
    "($(grep ERROR $log | tail -1)): allow it a way to an index (https_proxy, PIP_INDEX_URL) or a folder of wheels" \
    "(PIP_NO_INDEX=1 PIP_FIND_LINKS=folder)"
  cp build/requirements.txt $wheels/
fi
echo "rankwise: download: $((SECONDS - began_s)) s"

began_s=$SECONDS
charts=python/rankwise/report/templates/vega.js
if [ ! -e $charts ]; then
  { "${pip[@]}" download --no-deps -d $wheels vl-convert-python && "${pip[@]}" install --no-index --no-deps --find-links $wheels \
      --target "$TMPDIR/charts" vl-convert-python && PYTHONPATH=$TMPDIR/charts "$venv/bin/python" -B \
      python/rankwise/report/vega_bundle.py "$TMPDIR/vega.js" && mv "$TMPDIR/vega.js" $charts; } >> $log 2>&1 ||
    echo "rankwise: pages will have no charts, as vl-convert-python cannot be had ($(tail -1 $log))"
fi
follow unpack "${pip[@]}" install --no-compile --no-index --find-links $wheels -r build/requirements.txt ||
  fail "what was downloaded cannot be installed ($(grep ERROR $log | tail -1)): rm -r $wheels, and again"
echo "rankwise: unpack: $((SECONDS - began_s)) s"

# The rule of 'rankwise' itself, before a minute is spent on compiling.
wrong=$(PYTHONPATH=python "$venv/bin/python" -B - 2>&1 <<'PYTHON'
from rankwise.errors import RankwiseError
from rankwise.launch.installed import asked_compiler

try:
    asked_compiler()
except RankwiseError as error:
    raise SystemExit(str(error)) from None
PYTHON
) || fail "$wrong"

began_s=$SECONDS
# Bytecode, which Python itself makes only where it may, is made beside the compilers.
"$venv/bin/python" -m compileall -q -x '/tests?/' "$venv"/lib/python*/site-packages > /dev/null 2>&1 9>&- &
[ "$libraries" = ON ] || unset RANKWISE_MPI  # for another MPI than the default one rankwise builds what is used, on first use
PATH=$PWD/$venv/bin:$PATH follow compile "${pip[@]}" install --verbose --no-build-isolation --no-deps \
  --config-settings "cmake.define.RANKWISE_LIBRARIES=$libraries" . ||
  fail "it does not compile ($(grep -m 1 -oE '[^ ]*: (fatal )?error: .*|CMake Error.*|[Nn]o such option.*' $log ||
    grep -m 1 -o 'FAILED: .*' $log || tail -1 $log)): see $log"
wait
echo "rankwise: compile: $((SECONDS - began_s)) s"
touch "$venv/.installed" "$stamp"
