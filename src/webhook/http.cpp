#include "webhook/http.h"

#include <utility>

namespace injector::webhook {

namespace {

Route review_route(std::string path, AdmissionHandler handler) {
  return {
      HttpMethod::Post, std::move(path),
      [handle = std::move(handler)](const HttpRequest& request) { return handle(request.body); }};
}

}  // namespace

Routes mutate_routes(AdmissionHandler handler) {
  return {review_route("/mutate", std::move(handler))};
}

Routes webhook_routes(AdmissionHandler mutate, AdmissionHandler validate) {
  return {review_route("/mutate", std::move(mutate)),
          review_route("/validate", std::move(validate))};
}

}  // namespace injector::webhook
