# docker build -t envoy-initializer:0.2.0 .
FROM debian:bookworm AS builder
WORKDIR /src
# On its own, so that a change of the sources does not install everything again.
COPY tools/install-packages tools/install-packages
RUN tools/install-packages
COPY . .
RUN make build && tools/rootfs build/release/envoy-initializer /rootfs

FROM scratch
LABEL org.opencontainers.image.title="envoy-initializer" \
      org.opencontainers.image.description="Puts an Envoy sidecar into Pods that ask for it" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=builder /rootfs/ /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/envoy-initializer"]
