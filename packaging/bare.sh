#!/bin/bash
# bare.sh [SUITE]: README's two commands as a newcomer has them: in a bare Debian (default: bookworm) made by debootstrap in a
# folder that goes away, with README's one apt-get line, an empty home, a clone of this checkout, and no rights but a user's.
#   AGAIN=3    so many times more 'make quick' from the clone, without downloads
#   MIRROR=http://archive.ubuntu.com/ubuntu SCRIPT=jammy OPTIONS='--components=main,universe'  of debootstrap: for Ubuntu
#     24.04 (SUITE noble); with --no-check-gpg where its keys are not installed
#   PACKAGES=  more packages; COMMANDS='make quick'  instead of both; SETTINGS='CXX=clang++-14'  for them
# Results of the tests come into build/bare. Exit code 77: it cannot be done here.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
PATH=$PATH:/usr/sbin:/sbin

cannot() {
  echo "bare: $*" >&2
  exit 77
}

if [ -z "${BARE_INSIDE-}" ]; then
  [ "$(id -u)" = 0 ] || cannot "needs root"
  command -v debootstrap > /dev/null || cannot "needs debootstrap (Debian: apt-get install debootstrap)"
  unshare --mount --pid --fork true || cannot "no namespaces can be made here"
  root=$(mktemp -d "${TMPDIR:-/tmp}/rankwise-bare.XXXXXX")
  chmod 755 "$root"
  # Mounts and processes go with their namespaces, however this ends; the folder is left to us.
  trap 'set +e; { kill -KILL $!; wait; } 2> /dev/null; rm -rf --one-file-system "$root" "$root.log"' EXIT
  trap 'exit 130' INT TERM HUP
  BARE_INSIDE=$root unshare --mount --pid --fork --kill-child packaging/bare.sh "$suite" &
  wait $!
  exit
fi

root=$BARE_INSIDE
trap 'exit 130' INT TERM HUP
say() { echo "bare: $(date +%T) load $(cut -d' ' -f1 /proc/loadavg): $*"; }
mirror=${MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' | sed -n '/^Debian /s///p' | head -1)}
[ -n "$mirror" ] || cannot "apt's sources name no mirror of Debian"
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy-}" ] || export http_proxy

say "$suite from $mirror"
script=/usr/share/debootstrap/scripts/$suite
[ -e "$script" ] || script=${script%/*}/${SCRIPT:-sid}  # for suites that debootstrap does not know yet
# shellcheck disable=SC2086
debootstrap --variant=minbase ${OPTIONS-} "$suite" "$root" "$mirror" "$script" > "$root.log" 2>&1 ||
  { tail -3 "$root.log" >&2; rm "$root.log"; cannot "debootstrap fails"; }
rm "$root.log"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
cp /etc/resolv.conf /etc/hosts "$root/etc/"

line=$(grep -m 1 -o 'apt-get install .*' README.md)
say "$line ${PACKAGES-}"
words=(chroot "$root" env DEBIAN_FRONTEND=noninteractive)
"${words[@]}" apt-get -qq update 2> /dev/null || true  # what it cannot get, the next line lacks
"${words[@]}" $line -y -qq --no-install-recommends ${PACKAGES-} > /dev/null 2>&1
chroot "$root" useradd --create-home newcomer
git clone --quiet . "$root/home/newcomer/rankwise"
chroot "$root" chown -R newcomer: /home/newcomer
# pip's settings: its variables, those of proxies, a file of settings, a folder of wheels, and whom this system trusts.
for file in /etc/pip.conf ~/.pip/pip.conf ~/.config/pip/pip.conf "${PIP_CONFIG_FILE:-}"; do
  [ ! -f "$file" ] || cp "$file" "$root/etc/pip.conf"
done
[ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
[ ! -d "${PIP_FIND_LINKS-}" ] || { mkdir -p "$root$PIP_FIND_LINKS" && mount --bind "$PIP_FIND_LINKS" "$root$PIP_FIND_LINKS"; }
mapfile -t kept < <(env | grep -E '^(PIP_[A-Z_]+|[a-zA-Z]+_(proxy|PROXY)|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)=' | grep -v PIP_CONFIG_FILE)

as_newcomer() {
  chroot --userspec=newcomer: "$root" env --default-signal=INT -i HOME=/home/newcomer USER=newcomer PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 \
    "${kept[@]}" bash -c "cd ~/rankwise && $*"
}
remains() {
  say "/dev/shm: [$(ls -A "$root/dev/shm" | tr '\n' ' ')] /tmp: [$(ls -A "$root/tmp" | tr '\n' ' ')]" \
    "processes: [$(cat "$root"/proc/[0-9]*/comm 2> /dev/null | grep -v -E '^(bare.sh|cat|grep|tr)$' | tr '\n' ' ')]"
}
try() {
  remains
  say "begin: $*"
  local code=0
  TIMEFORMAT="bare: $*: %R s, of processors %U + %S s"
  time as_newcomer "$*" || code=$?
  say "end: $*: exit code $code"
  remains
  return $code
}

status=0
IFS=, read -r -a commands <<< "${COMMANDS:-make quick,make test}"
for command in "${commands[@]}"; do
  try "$command ${SETTINGS-}" || status=1
  if [ "$command" = "make quick" ]; then
    for ((i = 0; i < ${AGAIN:-0}; ++i)); do
      as_newcomer "rm -rf .venv build/cp* rankwise-report.html"
      try "$command ${SETTINGS-}" || status=1
    done
  fi
done
rm -rf build/bare && mkdir -p build/bare
find "$root/home/newcomer/rankwise/build" -maxdepth 2 -name '*.xml' -exec cp {} build/bare/ \;
exit $status
