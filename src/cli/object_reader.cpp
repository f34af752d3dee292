#include "cli/object_reader.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "cli/inputs.h"
#include "codec/document_stream.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr std::string_view kListSuffix = "List";

std::string display_name(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

// Braces may be YAML all the same: with comments, or a comma too many.
base::Result<codec::YamlDocument> read_document(const codec::RawDocument& raw) {
  if (!raw.json) {
    return codec::read_yaml(raw.text, raw.first_line, codec::LastLine::Ended);
  }
  auto json = codec::read_json(raw.text);
  if (json) {
    codec::YamlDocument document;
    document.value = std::move(json).value();
    return document;
  }
  auto yaml = codec::read_yaml(raw.text, raw.first_line, codec::LastLine::Ended);
  return yaml ? std::move(yaml) : std::move(json).error();
}

// Items of a PodList and the like may leave out their kind.
void add_items(const Json& list, std::vector<Json>& into) {
  const std::string_view list_kind = base::text_of(base::find(list, "kind"));
  const std::string_view kind = list_kind.substr(0, list_kind.size() - kListSuffix.size());
  for (const Json& item : list.at("items")) {
    into.push_back(item);
    if (!kind.empty() && item.is_object() && !item.contains("kind")) {
      into.back()["kind"] = kind;
    }
  }
}

void add_objects(Json value, std::vector<Json>& into) {
  const Json* items = base::find(std::as_const(value), "items");
  if (base::text_of(base::find(std::as_const(value), "kind")).ends_with(kListSuffix) &&
      items != nullptr && items->is_array()) {
    add_items(value, into);
  } else if (!value.is_null()) {
    into.push_back(std::move(value));
  }
}

class Reader {
 public:
  explicit Reader(const Streams& streams)
      : streams_(streams) {}

  void read_argument(const std::string& argument) {
    const auto files = expand_inputs({argument});
    if (!files) {
      result_.failures.push_back(files.error().message);
      return;
    }
    for (const std::string& file : files.value()) {
      read_file(file);
    }
  }

  [[nodiscard]] ReadObjects take() { return std::move(result_); }

 private:
  void read_file(const std::string& file) {
    if (file == kStandardInput) {
      read_stream(file, streams_.in);
      return;
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      fail(file, "cannot be read");
      return;
    }
    read_stream(file, in);
  }

  void read_stream(const std::string& file, std::istream& in) {
    codec::DocumentStream documents(in);
    while (true) {
      auto raw = documents.next();
      if (!raw) {
        fail(file, raw.error().message);  // Final: where the next document begins is not known.
        return;
      }
      if (!raw.value()) {
        return;
      }
      read_one(file, *raw.value());
    }
  }

  void read_one(const std::string& file, const codec::RawDocument& raw) {
    auto document = read_document(raw);
    if (!document) {
      fail(file, fmt::format("document at line {}: {}", raw.first_line, document.error().message));
      return;
    }
    for (const codec::YamlWarning& warning : document.value().warnings) {
      streams_.err << fmt::format("{}:{}: warning: {}\n", display_name(file), warning.where.line,
                                  warning.message);
    }
    add_objects(std::move(document.value().value), result_.objects);
  }

  void fail(const std::string& file, const std::string& why) {
    result_.failures.push_back(fmt::format("{}: {}", display_name(file), why));
  }

  const Streams& streams_;  // Not owned.
  ReadObjects result_;
};

}  // namespace

ReadObjects read_objects(const std::vector<std::string>& files, const Streams& streams) {
  Reader reader(streams);
  for (const std::string& argument : files) {
    reader.read_argument(argument);
  }
  return reader.take();
}

}  // namespace injector::cli
