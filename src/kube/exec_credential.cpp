#include "kube/exec_credential.h"

#include "base/json.h"
#include "base/json_text.h"
#include "kube/time_text.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

Error bad_answer(const std::string& what) {
  return {ErrorCode::Internal, "its answer is not an ExecCredential: " + what};
}

Result<Json> read_status(std::string_view text, std::string_view api_version) {
  Result<Json> answer = base::read_json(text);
  if (!answer) {
    return bad_answer(answer.error().message);
  }
  const Json& value = answer.value();
  const std::string_view version = base::text_of(base::find(value, "apiVersion"));
  if (base::text_of(base::find(value, "kind")) != "ExecCredential" || version != api_version) {
    return bad_answer("want kind ExecCredential of " + std::string(api_version) + ", got \"" +
                      std::string(version) + "\"");
  }
  const Json* status = base::find(value, "status");
  if (status == nullptr || !status->is_object()) {
    return bad_answer("no status");
  }
  return *status;
}

}  // namespace

std::string exec_info(const ExecSettings& settings, bool interactive) {
  Json info = {{"kind", "ExecCredential"}, {"apiVersion", settings.api_version}};
  info["spec"] = Json::object();
  if (!settings.cluster.is_null()) {
    info["spec"]["cluster"] = settings.cluster;
  }
  info["spec"]["interactive"] = interactive;
  return base::write_json(info);
}

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const Result<Json> status = read_status(text, api_version);
  if (!status) {
    return status.error();
  }
  const auto field = [&](std::string_view name) {
    return std::string(base::text_of(base::find(status.value(), name)));
  };
  ExecCredential credential;
  credential.token = field("token");
  credential.identity = {field("clientCertificateData"), field("clientKeyData")};
  if (credential.identity.certificate.empty() != credential.identity.key.empty()) {
    return bad_answer("clientCertificateData and clientKeyData come together or not at all");
  }
  if (credential.token.empty() && credential.identity.certificate.empty()) {
    return bad_answer("neither a token nor a certificate");
  }
  const std::string expires = field("expirationTimestamp");
  credential.expires = parse_time(expires);
  if (!expires.empty() && !credential.expires) {
    return bad_answer("bad expirationTimestamp \"" + expires + "\"");
  }
  return credential;
}

}  // namespace injector::kube
