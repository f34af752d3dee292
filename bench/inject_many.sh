#!/usr/bin/env bash
# One stream of 1,000 Deployments through inject, next to `kubectl patch --local` once for each of 20 of them,
# scaled up; and the memory of a stream ten times as long. Usage: bench/inject_many.sh BINARY
set -euo pipefail
binary=${1:?the envoy-initializer binary}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

deployments() {
  for ((i = 0; i < $1; i++)); do
    cat <<YAML
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-$i
spec:
  replicas: 2   # enough
  selector:
    matchLabels: {app: web-$i}
  template:
    metadata:
      labels:
        app: web-$i
      annotations:
        initializer.kubernetes.io/envoy: "true"
    spec:
      containers:
      - name: app
        image: nginx:1.25
        ports:
        - containerPort: 8080
YAML
  done
}
now() { date +%s%N; }
peak_kib() { /usr/bin/time -f %M "$@" 2>&1 >/dev/null | tail -n 1; }

deployments 1000 >"$folder/many.yaml"
begin=$(now)
"$binary" inject -q -f "$folder/many.yaml" >"$folder/out.yaml"
ours=$((($(now) - begin) / 1000000))
echo "inject, 1,000 Deployments in one stream: $ours ms"

if command -v kubectl >/dev/null; then
  deployments 1 >"$folder/one.yaml"
  patch=$("$binary" inject -q -f "$folder/one.yaml" -o strategic)
  begin=$(now)
  for _ in $(seq 20); do
    kubectl patch --local -f "$folder/one.yaml" --type=strategic -p "$patch" -o yaml >/dev/null
  done
  theirs=$((($(now) - begin) * 50 / 1000000))
  echo "kubectl patch --local, one by one: $theirs ms for 1,000 (measured on 20)"
  echo "ratio: $((theirs / (ours > 0 ? ours : 1)))"
fi

if [ -x /usr/bin/time ]; then
  deployments 10000 >"$folder/more.yaml"
  echo "peak memory: $(peak_kib "$binary" inject -q -f "$folder/many.yaml") KiB for 1,000," \
    "$(peak_kib "$binary" inject -q -f "$folder/more.yaml") KiB for 10,000"
fi
