#include "admission/routes.h"

#include <utility>

namespace injector::admission {

namespace {

http::Route review_route(std::string path, AdmissionHandler handler) {
  return {
      http::Method::Post, std::move(path),
      [handle = std::move(handler)](const HttpRequest& request) { return handle(request.body); }};
}

http::Route review_route(std::string path, WaitingHandler handler) {
  http::Route route = review_route(std::move(path), std::move(handler.in_time));
  route.may_block = true;
  route.quick = [handle = std::move(handler.at_once)](const HttpRequest& request) {
    return handle(request.body);
  };
  return route;
}

}  // namespace

Routes mutate_routes(AdmissionHandler handler) {
  return {review_route("/mutate", std::move(handler))};
}

Routes webhook_routes(WaitingHandler mutate, AdmissionHandler validate) {
  return {review_route("/mutate", std::move(mutate)),
          review_route("/validate", std::move(validate))};
}

}  // namespace injector::admission
