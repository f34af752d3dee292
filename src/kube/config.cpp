#include "kube/config.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/files.h"
#include "http/url.h"
#include "kube/exec_credential.h"
#include "kube/yaml.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

/// `path` as seen from the folder of `file`.
std::string resolve_path(const std::string& path, const std::string& file) {
  if (path.empty() || path.front() == '/') {
    return path;
  }
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

/// Reads the fields of one object and remembers the first that is wrong, so that its user can read
/// all and check once.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string where)
      : object_(object),
        where_(std::move(where)) {}

  std::string text(std::string_view key) {
    const Json* value = member(key);
    if (value == nullptr) {
      return {};
    }
    if (!value->is_string()) {
      fail(key, "must be a string");
      return {};
    }
    return std::string(base::text_of(value));
  }

  bool flag(std::string_view key) {
    const Json* value = member(key);
    if (value != nullptr && !value->is_boolean()) {
      fail(key, "must be true or false");
      return false;
    }
    return value != nullptr && value->get<bool>();
  }

  std::string decoded(std::string_view key) {
    const std::string encoded = text(key);
    const std::optional<std::string> bytes = base::base64_decode(encoded);
    if (!bytes) {
      fail(key, "must be base64");
    }
    return bytes.value_or("");
  }

  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> out;
    for (const Json& value : elements(key)) {
      if (!value.is_string()) {
        fail(key, "must be a list of strings");
        break;
      }
      out.emplace_back(base::text_of(&value));
    }
    return out;
  }

  /// The elements of a list; none where it is absent.
  const Json& elements(std::string_view key) {
    static const Json kNone = Json::array();
    const Json* value = member(key);
    if (value == nullptr) {
      return kNone;
    }
    if (!value->is_array()) {
      fail(key, "must be a list");
      return kNone;
    }
    return *value;
  }

  /// Null counts as absent, as it does in Go.
  [[nodiscard]] const Json* member(std::string_view key) const {
    const Json* value = base::find(object_, key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  void fail(std::string_view key, std::string_view why) {
    if (!error_) {
      error_ = base::invalid(where_ + ": " + std::string(key) + " " + std::string(why));
    }
  }

  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  const Json& object_;
  const std::string where_;
  std::optional<Error> error_;
};

struct Entry {
  Json value;
  std::string file;  // Where it stands: for relative paths and for messages.
};

using Entries = std::map<std::string, Entry>;

/// Several kubeconfigs made one.
struct Kubeconfig {
  Entries clusters;
  Entries users;
  Entries contexts;
  std::string current_context;

  [[nodiscard]] bool empty() const {
    return clusters.empty() && users.empty() && contexts.empty() && current_context.empty();
  }
};

/// One of the three lists: [{name: N, <field>: {...}}]. Entries that `into` has already stay.
Result<void> merge_entries(const Json& list, const std::string& field, const std::string& file,
                           Entries& into) {
  Entries found;
  for (const Json& item : list) {
    const std::string name(base::text_of(base::find(item, "name")));
    const Json* value = base::find(item, field);
    if (!item.is_object() || (value != nullptr && !value->is_null() && !value->is_object())) {
      return base::invalid(file + ": " + field + " " + in_quotes(name) + " must be an object");
    }
    const bool absent = value == nullptr || value->is_null();
    if (!found.emplace(name, Entry{absent ? Json::object() : *value, file}).second) {
      return base::invalid(file + ": " + field + " " + in_quotes(name) + " is there twice");
    }
  }
  into.merge(found);  // Keeps what is there.
  return {};
}

Result<void> merge_lists(FieldReader& reader, const std::string& file, Kubeconfig& into) {
  if (auto done = merge_entries(reader.elements("clusters"), "cluster", file, into.clusters);
      !done) {
    return done;
  }
  if (auto done = merge_entries(reader.elements("users"), "user", file, into.users); !done) {
    return done;
  }
  return merge_entries(reader.elements("contexts"), "context", file, into.contexts);
}

Result<void> merge_text(std::string_view text, const std::string& file, Kubeconfig& into) {
  const Result<Json> document = read_yaml(text);
  if (!document) {
    return annotate(document.error(), file);
  }
  const Json& root = document.value();
  if (root.is_null()) {
    return {};
  }
  FieldReader reader(root, file);
  const std::string kind = reader.text("kind");
  if (!root.is_object() || (!kind.empty() && kind != "Config")) {
    return base::invalid(file + ": not a kubeconfig");
  }
  if (auto merged = merge_lists(reader, file, into); !merged) {
    return merged;
  }
  const std::string current = reader.text("current-context");
  if (into.current_context.empty()) {
    into.current_context = current;
  }
  return reader.error() ? Result<void>(*reader.error()) : Result<void>();
}

// ---- One context made a ClientConfig -------------------------------------------------------

Error unsupported(const Entry& entry, const std::string& what, const std::string& field) {
  return base::invalid(entry.file + ": " + what + ": " + field + " is not supported");
}

tls::PemSource pem_source(FieldReader& reader, const std::string& key, const std::string& file) {
  const std::string data = reader.decoded(key + "-data");
  const std::string path = reader.text(key);
  return data.empty() ? tls::PemSource{{}, resolve_path(path, file)} : tls::PemSource{data, {}};
}

Result<void> read_cluster(const Entry& entry, const std::string& name, ClientConfig& config) {
  const std::string what = "cluster " + in_quotes(name);
  FieldReader reader(entry.value, entry.file + ": " + what);
  if (const std::string url = reader.text("proxy-url"); !url.empty()) {
    auto proxy = http::parse_proxy(url);
    if (!proxy) {
      return annotate(std::move(proxy).error(), entry.file + ": " + what + ": proxy-url");
    }
    config.proxy = std::move(proxy).value();
  }
  config.server = reader.text("server");
  config.tls.authority = pem_source(reader, "certificate-authority", entry.file);
  config.tls.skip_verify = reader.flag("insecure-skip-tls-verify");
  config.tls.server_name = reader.text("tls-server-name");
  if (config.tls.skip_verify && !config.tls.authority.empty()) {
    reader.fail("insecure-skip-tls-verify", "and certificate-authority exclude each other");
  }
  return reader.error() ? Result<void>(*reader.error()) : Result<void>();
}

std::optional<InteractiveMode> interactive_mode(const std::string& text, bool may_be_missing) {
  if (text == "Never") {
    return InteractiveMode::Never;
  }
  if (text == "Always") {
    return InteractiveMode::Always;
  }
  if (text == "IfAvailable" || (text.empty() && may_be_missing)) {
    return InteractiveMode::IfAvailable;
  }
  return std::nullopt;
}

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

std::string authority_text(const tls::PemSource& source) {
  const Result<std::string> text =
      source.file.empty() ? Result<std::string>(source.data) : base::read_file(source.file);
  return text ? text.value() : "";  // A missing file is reported where TLS needs it.
}

/// What a plugin with provideClusterInfo is told.
Json cluster_info(const Json& cluster, const ClientConfig& config) {
  Json info = {{"server", config.server}};
  if (!config.tls.server_name.empty()) {
    info["tls-server-name"] = config.tls.server_name;
  }
  if (config.tls.skip_verify) {
    info["insecure-skip-tls-verify"] = true;
  }
  if (const Json* proxy = base::find(cluster, "proxy-url")) {
    info["proxy-url"] = *proxy;
  }
  const std::string authority = authority_text(config.tls.authority);
  if (!authority.empty()) {
    info["certificate-authority-data"] = base::base64_encode(authority);
  }
  const Json* extensions = base::find(cluster, "extensions");
  if (extensions == nullptr || !extensions->is_array()) {
    return info;
  }
  for (const Json& extension : *extensions) {
    const Json* value = base::find(extension, "extension");
    if (base::text_of(base::find(extension, "name")) == kExecExtension && value != nullptr) {
      info["config"] = *value;
    }
  }
  return info;
}

std::vector<std::pair<std::string, std::string>> exec_env(FieldReader& reader) {
  std::vector<std::pair<std::string, std::string>> env;
  for (const Json& item : reader.elements("env")) {
    const std::string name(base::text_of(base::find(item, "name")));
    const Json* value = base::find(item, "value");
    if (name.empty() || (value != nullptr && !value->is_string())) {
      reader.fail("env", "must be a list of name and value");
      break;
    }
    env.emplace_back(name, base::text_of(value));
  }
  return env;
}

Result<ExecSettings> read_exec(const Json& value, const std::string& where,
                               const std::string& file) {
  FieldReader reader(value, where + ": exec");
  ExecSettings exec;
  exec.api_version = reader.text("apiVersion");
  exec.command = reader.text("command");
  exec.args = reader.texts("args");
  exec.env = exec_env(reader);
  exec.install_hint = reader.text("installHint");
  const std::string mode = reader.text("interactiveMode");
  const bool beta = exec.api_version == kExecV1beta1;
  if (!beta && exec.api_version != kExecV1) {
    reader.fail("apiVersion", "must be " + std::string(kExecV1) + " or v1beta1");
  }
  if (exec.command.empty()) {
    reader.fail("command", "is missing");
  }
  const auto interactive = interactive_mode(mode, beta);
  if (!interactive) {
    reader.fail("interactiveMode", "must be Never, IfAvailable or Always");
  }
  if (reader.error()) {
    return *reader.error();
  }
  exec.interactive = *interactive;
  if (exec.command.find('/') != std::string::npos) {
    exec.command = resolve_path(exec.command, file);
  }
  return exec;
}

Result<void> refuse_unsupported_user(const Entry& entry, const std::string& what) {
  for (const char* field : {"auth-provider", "as", "as-uid", "as-groups", "as-user-extra"}) {
    const Json* value = base::find(entry.value, field);
    if (value != nullptr && !value->empty() && *value != Json("")) {
      return unsupported(entry, what, field);
    }
  }
  return {};
}

Result<void> read_user(const Entry& entry, const std::string& name, ClientConfig& config) {
  const std::string what = "user " + in_quotes(name);
  const std::string where = entry.file + ": " + what;
  if (auto refused = refuse_unsupported_user(entry, what); !refused) {
    return refused;
  }
  FieldReader reader(entry.value, where);
  AuthSettings& auth = config.auth;
  auth.token = reader.text("token");
  auth.token_file = resolve_path(reader.text("tokenFile"), entry.file);
  auth.username = reader.text("username");
  auth.password = reader.text("password");
  config.tls.certificate = pem_source(reader, "client-certificate", entry.file);
  config.tls.key = pem_source(reader, "client-key", entry.file);
  const bool has_token = !auth.token.empty() || !auth.token_file.empty();
  if (has_token && !auth.username.empty()) {
    reader.fail("token", "and username exclude each other");
  }
  if (config.tls.certificate.empty() != config.tls.key.empty()) {
    reader.fail("client-certificate", "and client-key need each other");
  }
  if (reader.error()) {
    return *reader.error();
  }
  const Json* exec = reader.member("exec");
  if (exec == nullptr || has_token || !auth.username.empty() || !config.tls.certificate.empty()) {
    return {};
  }
  Result<ExecSettings> settings = read_exec(*exec, where, entry.file);
  if (!settings) {
    return settings.error();
  }
  auth.exec = std::move(settings).value();
  return {};
}

std::string names_of(const Entries& entries) {
  std::string names;
  for (const auto& [name, entry] : entries) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none" : names;
}

Result<const Entry*> find_entry(const Entries& entries, const std::string& kind,
                                const std::string& name) {
  const auto found = entries.find(name);
  if (found == entries.end()) {
    return Error{ErrorCode::NotFound, "kubeconfig: no " + kind + " " + in_quotes(name) +
                                          " (there are: " + names_of(entries) + ")"};
  }
  return &found->second;
}

struct ContextNames {
  std::string cluster;
  std::string user;
};

Result<ContextNames> read_context(const Kubeconfig& merged, ClientConfig& config) {
  const Result<const Entry*> context = find_entry(merged.contexts, "context", config.context);
  if (!context) {
    return context.error();
  }
  const Entry& entry = *context.value();
  FieldReader reader(entry.value, entry.file + ": context " + in_quotes(config.context));
  ContextNames names{reader.text("cluster"), reader.text("user")};
  const std::string name_space = reader.text("namespace");
  if (!name_space.empty()) {
    config.name_space = name_space;
  }
  return reader.error() ? Result<ContextNames>(*reader.error()) : names;
}

Result<void> provide_cluster_info(const Kubeconfig& merged, const ContextNames& names,
                                  ClientConfig& config) {
  const auto user = merged.users.find(names.user);
  const auto cluster = merged.clusters.find(names.cluster);
  if (!config.auth.exec || user == merged.users.end()) {
    return {};
  }
  FieldReader reader(*base::find(user->second.value, "exec"),
                     user->second.file + ": user " + in_quotes(names.user) + ": exec");
  if (reader.flag("provideClusterInfo")) {
    config.auth.exec->cluster = cluster_info(
        cluster == merged.clusters.end() ? Json::object() : cluster->second.value, config);
  }
  return reader.error() ? Result<void>(*reader.error()) : Result<void>();
}

Result<void> apply_context(const Kubeconfig& merged, const ConfigOptions& options,
                           ClientConfig& config) {
  const Result<ContextNames> names = read_context(merged, config);
  if (!names) {
    return names.error();
  }
  const ContextNames& used = names.value();
  if (!used.cluster.empty() || options.master.empty()) {
    const Result<const Entry*> cluster = find_entry(merged.clusters, "cluster", used.cluster);
    if (!cluster) {
      return annotate(cluster.error(), "context " + in_quotes(config.context));
    }
    if (auto read = read_cluster(*cluster.value(), used.cluster, config); !read) {
      return read;
    }
  }
  if (!options.master.empty()) {
    config.server = options.master;
  }
  if (!used.user.empty()) {
    const Result<const Entry*> user = find_entry(merged.users, "user", used.user);
    if (!user) {
      return annotate(user.error(), "context " + in_quotes(config.context));
    }
    if (auto read = read_user(*user.value(), used.user, config); !read) {
      return read;
    }
  }
  return provide_cluster_info(merged, used, config);
}

bool implies_tls(const tls::ClientSettings& tls) {
  return tls.skip_verify || !tls.authority.empty() || !tls.certificate.empty();
}

/// Gives the server its scheme and checks it.
Result<ClientConfig> finish(ClientConfig config, const ConfigOptions& options) {
  if (!options.name_space.empty()) {
    config.name_space = options.name_space;
  }
  if (config.server.empty()) {
    return base::invalid("kubeconfig: context " + in_quotes(config.context) +
                         ": its cluster has no server");
  }
  auto server = http::parse_url(config.server, implies_tls(config.tls));
  if (!server) {
    return annotate(std::move(server).error(), "server");
  }
  config.server = server.value().text();
  return config;
}

Result<ClientConfig> select(const Kubeconfig& merged, const ConfigOptions& options) {
  ClientConfig config;
  config.context = options.context.empty() ? merged.current_context : options.context;
  if (config.context.empty() && options.master.empty()) {
    return base::invalid("kubeconfig: no current-context; choose one with --context (there are: " +
                         names_of(merged.contexts) + ")");
  }
  if (config.context.empty()) {
    config.server = options.master;
    return finish(std::move(config), options);
  }
  INJ_TRY(apply_context(merged, options, config));
  return finish(std::move(config), options);
}

// ---- Where to look -------------------------------------------------------------------------

std::string variable(const Environment& environment, const char* name) {
  return environment.variable(name).value_or("");
}

/// KUBECONFIG's files, each once; else the one in the home directory.
std::vector<std::string> default_files(const Environment& environment) {
  std::vector<std::string> files;
  std::string_view list;
  const std::string from_variable = variable(environment, "KUBECONFIG");
  for (list = from_variable; !list.empty();) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    const std::string file(list.substr(0, colon));
    if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) {
      files.push_back(file);
    }
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  const std::string home = variable(environment, "HOME");
  if (from_variable.empty() && !home.empty()) {
    files.push_back(home + "/.kube/config");
  }
  return files;
}

Result<Kubeconfig> merge_files(const std::vector<std::string>& files, bool may_be_missing) {
  Kubeconfig merged;
  for (const std::string& file : files) {
    const Result<std::string> text = base::read_file(file);
    if (!text && may_be_missing && text.error().code == ErrorCode::NotFound) {
      continue;
    }
    if (!text) {
      return annotate(text.error(), "kubeconfig");
    }
    if (auto done = merge_text(text.value(), file, merged); !done) {
      return annotate(std::move(done).error(), "kubeconfig");
    }
  }
  return merged;
}

bool is_file(const std::string& path) {
  struct stat info {};

  return ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

std::string in_cluster_namespace(const Environment& environment) {
  const std::string given = variable(environment, "POD_NAMESPACE");
  if (!given.empty()) {
    return given;
  }
  const Result<std::string> text = base::read_file(environment.service_account_dir + "/namespace");
  std::string name_space = text ? text.value() : "";
  name_space.erase(name_space.find_last_not_of(" \t\r\n") + 1);
  return name_space.empty() ? "default" : name_space;
}

/// Empty: not in a Pod.
std::optional<ClientConfig> in_cluster(const Environment& environment) {
  const std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  const std::string token = environment.service_account_dir + "/token";
  const std::string authority = environment.service_account_dir + "/ca.crt";
  if (host.empty() || port.empty() || !is_file(token)) {
    return std::nullopt;
  }
  ClientConfig config;
  config.context = kInCluster;
  config.server = http::Url{true, host, port, {}}.text();
  config.auth.token_file = token;
  if (is_file(authority)) {
    config.tls.authority.file = authority;
  }
  config.name_space = in_cluster_namespace(environment);
  return config;
}

Error nothing_found(const std::vector<std::string>& files, const Environment& environment) {
  std::string looked;
  for (const std::string& file : files) {
    looked += file + ", ";
  }
  return {ErrorCode::NotFound, "no cluster is configured: looked at " + looked +
                                   "and for a service account (KUBERNETES_SERVICE_HOST and " +
                                   environment.service_account_dir +
                                   "/token); give --kubeconfig or --master"};
}

Result<ClientConfig> find_config(const ConfigOptions& options, const Environment& environment) {
  const bool explicit_file = !options.kubeconfig.empty();
  const std::vector<std::string> files =
      explicit_file ? std::vector{options.kubeconfig} : default_files(environment);
  const Result<Kubeconfig> merged = merge_files(files, !explicit_file);
  if (!merged) {
    return merged.error();
  }
  if (!merged.value().empty() || !options.master.empty() || !options.context.empty()) {
    return select(merged.value(), options);
  }
  std::optional<ClientConfig> pod = in_cluster(environment);
  if (!pod) {
    return nothing_found(files, environment);
  }
  return finish(*std::move(pod), options);
}

}  // namespace

Environment Environment::of_process() {
  Environment environment;
  environment.variable = [](const std::string& name) -> std::optional<std::string> {
    // Nothing in this process calls setenv after start.
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return environment;
}

Result<ClientConfig> read_kubeconfig(std::string_view text, const std::string& path,
                                     const ConfigOptions& options) {
  Kubeconfig merged;
  INJ_TRY(merge_text(text, path, merged));
  return select(merged, options);
}

Result<ClientConfig> load_config(const ConfigOptions& options, const Environment& environment) {
  INJ_ASSIGN(ClientConfig config, find_config(options, environment));
  if (!config.proxy) {
    INJ_ASSIGN(const http::Url server, http::parse_url(config.server, true));
    INJ_ASSIGN(config.proxy, http::proxy_from_environment(server, environment.variable));
  }
  return config;
}

}  // namespace injector::kube
