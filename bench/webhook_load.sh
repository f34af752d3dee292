#!/usr/bin/env bash
# Requests a second over keep-alive TLS on 127.0.0.1, in one run: real admissions (a recorded review of a
# Pod that gets the sidecar), the same server's constant answer, and that of an untuned httplib. Usage: bench/webhook_load.sh PROGRAM [SECONDS] [CONNECTIONS]
set -euo pipefail

program=${1:?the webhook_load program}
seconds=${2:-5}
connections=${3:-8}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/post.lua" <<'LUA'
wrk.method = "POST"
wrk.path = "/mutate?timeout=10s"
wrk.headers["Content-Type"] = "application/json"
local file = io.open(os.getenv("REVIEW"), "rb")
wrk.body = file:read("*a")
file:close()
LUA
REVIEW=$(dirname "$0")/../tests/fixtures/reviews/v1.36-pod-create-annotated.json
export REVIEW

coproc SERVER { "$program" "$folder"; }
read -r real ours stock <&"${SERVER[0]}"

load() {
  echo "== $1"
  wrk -t1 -c"$connections" -d"${seconds}s" --latency -s "$folder/post.lua" "https://127.0.0.1:$2/mutate" |
    grep -E 'Requests/sec|Socket errors|Non-2xx|requests in|50%|99%'
}

load "envoy-initializer, real admissions" "$real"
echo real >&"${SERVER[1]}"
read -r stats <&"${SERVER[0]}"
echo "  $stats"
load "envoy-initializer, constant answer" "$ours"
echo constant >&"${SERVER[1]}"
read -r stats <&"${SERVER[0]}"
echo "  $stats"
load "httplib::SSLServer untuned, constant answer" "$stock"
eval "exec ${SERVER[1]}>&-"
wait
