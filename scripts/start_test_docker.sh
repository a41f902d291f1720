#!/usr/bin/env bash
# Starts a Docker daemon of the tests' own and gives it the tests' image, made from Debian packages.
# For Debian as root. The daemon has a private socket and data folder and ends with
# scripts/stop_test_docker.sh. Its address is left in .cache/docker/address.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="$PWD/.cache/docker"
image=hil-mcp-test:1
mkdir -p "$cache"

need() { command -v "$1" >/dev/null || missing+=("$2"); }
missing=()
need dockerd docker.io
need docker-init tini
need debootstrap debootstrap
need zstd zstd
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! { [ -S "$cache/run/docker.sock" ] && [ -f "$cache/pid" ] && kill -0 "$(cat "$cache/pid")"; } 2>/dev/null; then
  # A socket's path may have 107 bytes and a checkout's may be longer: the link is what is long.
  rm -rf "$cache/run" "$cache/pid"
  run=$(mktemp -d /tmp/hil-mcp-docker.XXXXXX)
  ln -s "$run" "$cache/run"
  dockerd --bridge=none --iptables=false --ip6tables=false \
    -H "unix://$run/docker.sock" --pidfile "$cache/pid" \
    --data-root "$cache/data" --exec-root "$run/exec" >"$cache/dockerd.log" 2>&1 </dev/null &
  disown
  echo "unix://$run/docker.sock" >"$cache/address"
  for _ in $(seq 60); do
    [ -S "$run/docker.sock" ] && break
    sleep 0.5
  done
  [ -S "$run/docker.sock" ] || { tail -n 20 "$cache/dockerd.log" >&2; exit 1; }
fi

export DOCKER_HOST
DOCKER_HOST=$(cat "$cache/address")
docker() { /usr/bin/docker "$@"; }
if ! docker image inspect "$image" >/dev/null 2>&1; then
  if [ ! -f "$cache/image.tar.zst" ]; then
    root=$(mktemp -d /tmp/hil-mcp-image.XXXXXX)
    trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase --include=python3,git,ripgrep bookworm "$root" >"$cache/debootstrap.log"
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* \
      "$root"/usr/share/{doc,locale,man}
    tar -C "$root" -c . | zstd -q -3 >"$cache/image.tar.zst.part"
    mv "$cache/image.tar.zst.part" "$cache/image.tar.zst"
  fi
  zstd -dc "$cache/image.tar.zst" | docker import - "$image" >/dev/null
fi
echo "Docker for the tests: $DOCKER_HOST"
