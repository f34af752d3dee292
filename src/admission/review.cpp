#include "admission/review.h"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/base64.h"
#include "base/json_string.h"
#include "base/printable.h"
#include "core/gather.h"

namespace injector::admission {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kOrdinarySize = std::size_t{64} << 10U;
constexpr std::string_view kV1 = "admission.k8s.io/v1";
constexpr std::string_view kV1Beta1 = "admission.k8s.io/v1beta1";

// simdjson's parsed tape as a Node of core/gather.h.
class TapeNode {
 public:
  TapeNode() = default;

  explicit TapeNode(dom::element value)
      : value_(value) {}

  [[nodiscard]] bool exists() const { return value_.has_value(); }

  [[nodiscard]] bool is_null() const { return value_ && value_->is_null(); }

  [[nodiscard]] bool is_object() const { return value_ && value_->is_object(); }

  [[nodiscard]] bool is_array() const { return value_ && value_->is_array(); }

  [[nodiscard]] std::size_t size() const {
    return is_object()  ? value_->get_object().value_unsafe().size()
           : is_array() ? value_->get_array().value_unsafe().size()
                        : 0;
  }

  [[nodiscard]] std::optional<std::string_view> text() const { return get<std::string_view>(); }

  [[nodiscard]] std::optional<bool> boolean() const { return get<bool>(); }

  [[nodiscard]] std::optional<std::int64_t> integer() const { return get<std::int64_t>(); }

  [[nodiscard]] TapeNode member(std::string_view key) const {
    dom::element found;
    if (!is_object() || value_->get_object().value_unsafe().at_key(key).get(found) != 0) {
      return {};
    }
    return TapeNode(found);
  }

  template <class F>
  void each_member(F visit) const {
    const dom::object object = value_->get_object().value_unsafe();  // The result is a temporary.
    for (const auto field : object) {
      visit(field.key, TapeNode(field.value));
    }
  }

  template <class F>
  void each_element(F visit) const {
    const dom::array array = value_->get_array().value_unsafe();
    for (const dom::element element : array) {
      visit(TapeNode(element));
    }
  }

  [[nodiscard]] std::string json() const { return simdjson::minify(*value_); }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> get() const {
    T value{};
    if (!value_ || value_->get(value) != 0) {
      return std::nullopt;
    }
    return value;
  }

  std::optional<dom::element> value_;  // Empty where the document has no such node.
};

// Valid as long as the parser's tape.
std::string_view text_at(TapeNode object, std::string_view key) {
  return object.member(key).text().value_or("");
}

base::Result<ReviewVersion> version_of(TapeNode review) {
  const std::string_view version = text_at(review, "apiVersion");
  if (text_at(review, "kind") != "AdmissionReview") {
    return base::invalid("not an AdmissionReview");
  }
  if (version == kV1) {
    return ReviewVersion::V1;
  }
  if (version == kV1Beta1) {
    return ReviewVersion::V1Beta1;
  }
  return base::invalid(
      fmt::format("apiVersion \"{}\" is neither {} nor {}", base::echoed(version), kV1, kV1Beta1));
}

void read_pod(TapeNode object, const core::TemplateSet* templates, AdmissionRequest& request) {
  auto facts = core::PodFactsGatherer<TapeNode>::gather(object, templates);
  if (!facts) {
    request.pod_problem = std::move(facts).error().message;
    return;
  }
  request.pod = std::move(facts).value();
  if (request.pod->name_space.empty()) {
    request.pod->name_space = request.name_space;
  }
}

base::Result<AdmissionRequest> read_request(TapeNode review, const core::TemplateSet* templates) {
  const auto version = version_of(review);
  if (!version) {
    return version.error();
  }
  const TapeNode body = review.member("request");
  if (!body.is_object()) {
    return base::invalid("request: missing");
  }
  AdmissionRequest request;
  request.version = version.value();
  request.uid = text_at(body, "uid");
  const TapeNode resource = body.member("resource");
  request.group = text_at(resource, "group");
  request.resource = text_at(resource, "resource");
  request.sub_resource = text_at(body, "subResource");
  request.operation = text_at(body, "operation");
  request.name = text_at(body, "name");
  request.name_space = text_at(body, "namespace");
  request.dry_run = body.member("dryRun").boolean().value_or(false);
  if (request.uid.empty()) {
    return base::invalid("request.uid: missing");
  }
  if (request.is_pod() && request.is_create()) {
    read_pod(body.member("object"), templates, request);
  }
  if (request.is_config_map() && body.member("object").is_object()) {
    request.config_map = body.member("object").json();
  }
  return request;
}

base::Result<AdmissionRequest> read_with(dom::parser& parser, std::string_view body,
                                         const core::TemplateSet* templates) {
  dom::element review;
  if (const auto error = parser.parse(body.data(), body.size()).get(review); error != 0) {
    return base::invalid(fmt::format("not JSON: {}", simdjson::error_message(error)));
  }
  return read_request(TapeNode(review), templates);
}

void append_failure(std::string& text, const AdmissionResponse& response) {
  text += R"(,"status":{"status":"Failure","message":)";
  base::append_json_string(text, response.message);
  fmt::format_to(std::back_inserter(text), R"(,"code":{}}})", response.code);
}

void append_patch(std::string& text, std::string_view patch) {
  text += R"(,"patch":")";
  base::append_base64(text, patch);
  text += R"(","patchType":"JSONPatch")";
}

void append_audit_annotations(std::string& text, const AdmissionResponse& response) {
  text += R"(,"auditAnnotations":{"reason":)";
  base::append_json_string(text, response.reason);
  if (!response.templates.empty()) {
    text += R"(,"template":)";
    base::append_json_string(text, response.templates);
  }
  text += '}';
}

void append_warnings(std::string& text, const AdmissionResponse& response) {
  text += R"(,"warnings":)";
  char separator = '[';
  for (const std::string& warning : response.warnings) {
    text += separator;
    base::append_json_string(text, warning);
    separator = ',';
  }
  text += ']';
}

}  // namespace

base::Result<AdmissionRequest> read_review(std::string_view body,
                                           const core::TemplateSet* templates) {
  // A parser keeps its buffers from call to call, several times the size of what it read: those of
  // ordinary reviews stay, one parser a thread, so that calls never share it.
  if (body.size() <= kOrdinarySize) {
    thread_local dom::parser parser;
    return read_with(parser, body, templates);
  }
  dom::parser parser;
  return read_with(parser, body, templates);
}

std::string write_review(const AdmissionRequest& request, const AdmissionResponse& response) {
  constexpr std::size_t kUsualSize = 384;  // Of what is not the patch.
  const bool v1 = request.version == ReviewVersion::V1;
  std::string text;
  text.reserve(kUsualSize + response.patch.size() / 3 * 4);
  text += R"({"kind":"AdmissionReview","apiVersion":")";
  text += v1 ? kV1 : kV1Beta1;
  text += R"(","response":{"uid":)";
  base::append_json_string(text, request.uid);
  text += response.allowed ? R"(,"allowed":true)" : R"(,"allowed":false)";
  if (!response.message.empty()) {
    append_failure(text, response);
  }
  if (!response.patch.empty()) {
    append_patch(text, response.patch);
  }
  if (!response.reason.empty()) {
    append_audit_annotations(text, response);
  }
  if (v1 && !response.warnings.empty()) {
    append_warnings(text, response);
  }
  text += "}}\n";
  return text;
}

}  // namespace injector::admission
