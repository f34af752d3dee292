#!/usr/bin/env bash
# Requests a second over keep-alive TLS on 127.0.0.1: our server next to httplib's own, as it
# comes and tuned, all with a constant answer, in one run. Usage: bench/webhook_load.sh PROGRAM [SECONDS] [CONNECTIONS]
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
read -r ours untuned tuned <&"${SERVER[0]}"

stats() {
  echo >&"${SERVER[1]}"
  read -r cpu accepted workers <&"${SERVER[0]}"
}

load() {
  echo "== $1"
  stats
  local before=$cpu
  wrk -t1 -c"$connections" -d"${seconds}s" --latency -s "$folder/post.lua" "https://127.0.0.1:$2/mutate" |
    grep -E 'Requests/sec|Socket errors|Non-2xx|requests in|50%|99%' | tee "$folder/wrk"
  stats
  local requests
  requests=$(awk '/requests in/ { print $1 }' "$folder/wrk")
  echo "  server CPU: $(((cpu - before) / requests)) us a request"
}

load "envoy-initializer" "$ours"
echo "  connections accepted: $accepted (wrk opens one to try), workers: $workers"
load "httplib::SSLServer, untuned" "$untuned"
load "httplib::SSLServer, TCP_NODELAY and endless keep-alive" "$tuned"
input=${SERVER[1]}
exec {input}>&-
wait
