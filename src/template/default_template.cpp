// The built-in template. manifests/examples/template.yaml holds the same text; a test compares
// them.

#include "base/check.h"
#include "template/parser.h"

namespace injector::templates {
namespace {

constexpr std::string_view kDefaultTemplate =
    R"(# An Envoy in front of the application: what reaches the Pod on port 10000 goes to the application on port 8080.
# Statistics for Prometheus are on port 9902, /stats/prometheus. It needs no volume, no ConfigMap and no privilege.
containers:
  - name: envoy
    image: envoyproxy/envoy:distroless-v1.38.0
    args:
      - --disable-hot-restart
      - --concurrency
      - "2"
      - --log-level
      - warning
      - --config-yaml
      - |
        admin:
          address:
            socket_address: {address: 127.0.0.1, port_value: 9901}
        static_resources:
          clusters:
            - name: application
              type: STATIC
              connect_timeout: 1s
              # HTTP/1.1 or HTTP/2 (gRPC), as the client speaks it.
              typed_extension_protocol_options:
                envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
                  "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
                  use_downstream_protocol_config:
                    http_protocol_options: {}
                    http2_protocol_options: {}
              load_assignment:
                cluster_name: application
                endpoints:
                  - lb_endpoints:
                      - endpoint:
                          address:
                            socket_address: {address: 127.0.0.1, port_value: 8080}
            - name: admin
              type: STATIC
              connect_timeout: 1s
              load_assignment:
                cluster_name: admin
                endpoints:
                  - lb_endpoints:
                      - endpoint:
                          address:
                            socket_address: {address: 127.0.0.1, port_value: 9901}
          listeners:
            - name: inbound
              address:
                socket_address: {address: 0.0.0.0, port_value: 10000}
              filter_chains:
                - filters:
                    - name: envoy.filters.network.http_connection_manager
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                        stat_prefix: inbound
                        upgrade_configs:
                          - upgrade_type: websocket
                        access_log:
                          - name: envoy.access_loggers.stdout
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog
                        route_config:
                          name: inbound
                          virtual_hosts:
                            - name: application
                              domains: ["*"]
                              routes:
                                - match: {prefix: /}
                                  route: {cluster: application, timeout: 0s}
                        http_filters:
                          - name: envoy.filters.http.router
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
            # Of the admin interface only the statistics can be reached from outside the Pod.
            - name: statistics
              address:
                socket_address: {address: 0.0.0.0, port_value: 9902}
              filter_chains:
                - filters:
                    - name: envoy.filters.network.http_connection_manager
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                        stat_prefix: statistics
                        route_config:
                          name: statistics
                          virtual_hosts:
                            - name: statistics
                              domains: ["*"]
                              routes:
                                - match: {path: /stats/prometheus}
                                  route: {cluster: admin}
                                # Answers after ten seconds, and does nothing else: see preStop.
                                - match: {path: /wait}
                                  direct_response: {status: 200}
                                  typed_per_filter_config:
                                    envoy.filters.http.fault:
                                      "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
                                      delay:
                                        fixed_delay: 10s
                                        percentage: {numerator: 100}
                        http_filters:
                          - name: envoy.filters.http.health_check
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.health_check.v3.HealthCheck
                              pass_through_mode: false
                              headers:
                                - name: ":path"
                                  string_match: {exact: /ready}
                          - name: envoy.filters.http.fault
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
                          - name: envoy.filters.http.router
                            typed_config:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
    ports:
      - {name: envoy-inbound, containerPort: 10000, protocol: TCP}
      - {name: envoy-stats, containerPort: 9902, protocol: TCP}
    readinessProbe:
      httpGet: {path: /ready, port: envoy-stats}
      periodSeconds: 5
      timeoutSeconds: 2
    lifecycle:
      # Envoy ends at once on SIGTERM. Ten seconds before that, the Pod is taken out of its Services: time for requests
      # in flight to end and for clients to go elsewhere. The image has no shell to sleep in, so Envoy itself waits.
      preStop:
        httpGet: {path: /wait, port: envoy-stats}
    resources:
      requests: {cpu: 50m, memory: 64Mi}
      limits: {cpu: "1", memory: 256Mi}
    securityContext:
      allowPrivilegeEscalation: false
      capabilities: {drop: [ALL]}
      readOnlyRootFilesystem: true
      runAsNonRoot: true
      runAsUser: 65532
      runAsGroup: 65532
      seccompProfile: {type: RuntimeDefault}
)";

}  // namespace

std::string_view default_template_text() noexcept {
  return kDefaultTemplate;
}

const core::Template& default_template() {
  static const core::Template built_in = [] {
    auto parsed = parse_template(kDefaultTemplate, "built-in template");
    INJ_CHECK(parsed.has_value());
    return std::move(parsed).value();
  }();
  return built_in;
}

}  // namespace injector::templates
