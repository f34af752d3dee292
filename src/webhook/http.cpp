#include "webhook/http.h"

#include <utility>

namespace injector::webhook {

Routes mutate_routes(AdmissionHandler handler) {
  return {Route{
      HttpMethod::Post, "/mutate",
      [handle = std::move(handler)](const HttpRequest& request) { return handle(request.body); }}};
}

}  // namespace injector::webhook
