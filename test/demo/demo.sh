#!/usr/bin/env bash
# Shows what Berth does with a dozen pods: starts `berth serve` on loopback over
# cluster.yaml, posts reviews/*.json, and prints the verdicts.
#
#   demo.sh BERTH          exit 0 if every verdict is the expected one
#   demo.sh BERTH --keep   goes on serving, and prints a line to try, until Ctrl-C
#
# Needs bash, curl and jq. Nothing is left behind, and it may run twice at once.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
width=100

# path, expected verdict, review
cases=(
  '/mutate    rewritten  daemonset-pod'
  '/mutate    rewritten  daemonset-pod-without-a-pvc'
  '/mutate    refused    deployment-pod'
  '/mutate    rewritten  job-pinned-by-hostname'
  '/mutate    refused    one-of-two-hostnames'
  '/mutate    refused    contradictory-pins'
  '/mutate    rewritten  statefulset-pod-with-a-local-volume'
  '/mutate    refused    not-filled-yet'
  '/mutate    rewritten  job-that-fills'
  '/mutate    rewritten  newest-revision'
  '/mutate    rewritten  revision-asked-for'
  '/mutate    refused    another-nodes-pvc'
  '/validate  refused    left-for-the-twin'
)

fail() {
  printf 'demo.sh: %s\n' "$*" >&2
  exit 1
}

berth='' keep=no
for arg in "$@"; do
  case $arg in
    --keep) keep=yes ;;
    -*) fail "unknown flag $arg; usage: demo.sh BERTH [--keep]" ;;
    *) berth=$arg ;;
  esac
done
[[ -n $berth ]] || fail 'usage: demo.sh BERTH [--keep]'
[[ -x $berth ]] || fail "$berth is no program: build it first"
for tool in curl jq; do
  command -v "$tool" >/dev/null || fail "needs $tool"
done

pid=''
tmp=$(mktemp -d)

# stop ends the berth that this run started, and tells how it ended.
stop() {
  local status=0
  if [[ -n $pid ]]; then
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || status=$?
    pid=''
  fi
  return "$status"
}
trap 'stop || true; rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# address prints a field of the log record that says where berth serves.
address() { jq -Rr --arg field "$1" 'fromjson? | select(.msg == "serving") | .[$field]' "$tmp/log"; }

# await runs a command until it succeeds, for 20 seconds at most.
await() {
  local what=$1
  shift
  for ((i = 0; i < 200; i++)); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  sed 's/^/  /' "$tmp/log" >&2
  fail "$what"
}

serves() { [[ -n $(address metricsAddress) ]]; }
ready() { curl -sf --max-time 2 "http://$(address metricsAddress)/readyz"; }

start() {
  "$berth" serve --cluster-file "$here/cluster.yaml" --tls-self-signed --tls-self-signed-ca-out "$tmp/ca.crt" \
    --bind-address 127.0.0.1:0 --metrics-bind-address 127.0.0.1:0 --shutdown-delay-duration 0s --log-format json \
    2>"$tmp/log" &
  pid=$!
  await 'berth did not start' serves
  await 'berth did not get ready' ready
  url=https://$(address address)
}

# post prints the answer to a review.
post() {
  curl -sS --fail-with-body --max-time 10 --cacert "$tmp/ca.crt" -H 'Content-Type: application/json' \
    --data-binary "@$here/reviews/$2.json" "$url$1"
}

# The verdict of an answer, its claim names before and after, and its texts.
verdict='.response | if .allowed | not then "refused" elif .patch then "rewritten" else "allowed" end'
# shellcheck disable=SC2016 # $review is jq's
names='(.response.patch // "W10=" | @base64d | fromjson) as $patch
  | [$review[0].request.object.spec.volumes | to_entries[] | select(.value.persistentVolumeClaim)
    | .key as $i | .value.persistentVolumeClaim.claimName as $old
    | ([$patch[] | select(.path == "/spec/volumes/\($i)/persistentVolumeClaim/claimName") | .value][0]) as $new
    | if $new then "\($old) -> \($new)" else $old end] | join(", ")'
texts='.response | .status.message // empty, ((.warnings // [])[] | "Warning: " + .)'

# wrap prints a text in lines of the width, indented.
wrap() {
  local line='' word words
  read -ra words <<<"$1"
  for word in "${words[@]}"; do
    if [[ -n $line && $((${#line} + ${#word} + 5)) -gt $width ]]; then
      printf '    %s\n' "$line"
      line=$word
    else
      line+=${line:+ }$word
    fi
  done
  printf '    %s\n' "$line"
}

# show posts one case, prints its rows, and fails on another verdict than the expected.
show() {
  local path=$1 expected=$2 name=$3 answer got claims
  answer=$(post "$path" "$name") || fail "$name: no answer: $answer"
  got=$(jq -r "$verdict" <<<"$answer")
  claims=$(jq -r --slurpfile review "$here/reviews/$name.json" "$names" <<<"$answer")
  printf '%-36s %-10s %s\n' "$name" "$got" "$claims"
  while IFS= read -r text; do wrap "$text"; done < <(jq -r "$texts" <<<"$answer")
  [[ $got == "$expected" ]] || { printf '    EXPECTED: %s\n' "$expected"; return 1; }
}

start
wrong=0
printf '%-36s %-10s %s\n' CASE VERDICT 'CLAIM NAMES'
for entry in "${cases[@]}"; do
  read -r path expected name <<<"$entry"
  show "$path" "$expected" "$name" || wrong=$((wrong + 1))
done

if [[ $keep == yes ]]; then
  printf '\nBerth serves on %s until Ctrl-C. Try:\n\n' "$url"
  printf '  curl --cacert %q -H "Content-Type: application/json" --data-binary @%q %s/mutate | jq .\n\n' \
    "$tmp/ca.crt" "$here/reviews/daemonset-pod.json" "$url"
  trap 'exit 0' INT TERM
  wait "$pid"
fi

stop || fail "berth ended with exit code $?"
((wrong == 0)) || fail "$wrong of ${#cases[@]} verdicts were not the expected ones"
printf '\nAll %d verdicts were the expected ones.\n' "${#cases[@]}"
