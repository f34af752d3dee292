#!/usr/bin/env bash
# Requests a second over keep-alive TLS on 127.0.0.1: our server next to an untuned httplib one,
# both with a constant answer, in one run. Usage: bench/webhook_load.sh PROGRAM [SECONDS] [CONNECTIONS]
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
wrk.body = '{"kind":"AdmissionReview","request":{"object":"' .. string.rep("x", 4000) .. '"}}'
LUA

coproc SERVER { "$program" "$folder"; }
read -r ours stock <&"${SERVER[0]}"

load() {
  echo "== $1"
  wrk -t1 -c"$connections" -d"${seconds}s" --latency -s "$folder/post.lua" "https://127.0.0.1:$2/mutate" |
    grep -E 'Requests/sec|Socket errors|Non-2xx|requests in|50%|99%'
}

load "envoy-initializer" "$ours"
echo stats >&"${SERVER[1]}"
read -r stats <&"${SERVER[0]}"
echo "  $stats"
load "httplib::SSLServer, untuned" "$stock"
exec {SERVER[1]}>&-
wait
