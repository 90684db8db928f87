#!/usr/bin/env bash
# Runs every road on the cluster that is up and, beside them, the soak (SOAK, 10m by
# default) on a Berth of its own. Prints what the soak printed at the end.
set -euo pipefail
cd "$(dirname "$0")"
export CGO_ENABLED=0
tests=../../bin/e2e/e2e.test
go test -c -tags e2e -o "$tests" .

began=$SECONDS
log=$(mktemp)
SOAK=${SOAK:-10m} "$tests" -test.run '^TestSoak$' -test.timeout 90m -test.v >"$log" 2>&1 &
soak=$!
trap 'kill "$soak" 2>/dev/null || true; rm -f "$log"' EXIT

failed=0
"$tests" -test.skip '^TestSoak$' -test.timeout 30m -test.parallel 6 -test.v || failed=1
echo "=== roads: $((SECONDS - began)) s"
wait "$soak" || failed=1
cat "$log"
echo "=== roads and soak: $((SECONDS - began)) s"
exit "$failed"
