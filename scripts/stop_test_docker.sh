#!/usr/bin/env bash
# Ends the daemon that scripts/start_test_docker.sh started; its image cache stays.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="$PWD/.cache/docker"
[ -f "$cache/pid" ] || exit 0
pid=$(cat "$cache/pid")
kill "$pid" 2>/dev/null || true
for _ in $(seq 60); do
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.5
done
run=$(readlink -f "$cache/run")
# Docker leaves the mounts of network namespaces behind.
umount "$run"/exec/netns/* 2>/dev/null || true
rm -rf "$run" "$cache/run" "$cache/address" "$cache/pid"
