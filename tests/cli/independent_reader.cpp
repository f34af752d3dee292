#include "tests/cli/independent_reader.h"

#include <map>
#include <sstream>

#include <yaml-cpp/yaml.h>

namespace injector::cli::tests {
namespace {

std::string described(const YAML::Node& node) {
  std::string text;
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return "<" + node.Scalar() + ">";
    case YAML::NodeType::Sequence:
      for (const auto& item : node) {
        text += described(item) + ",";
      }
      return "[" + text + "]";
    case YAML::NodeType::Map: {
      std::map<std::string, std::string> members;
      for (const auto& member : node) {
        members[member.first.Scalar()] = described(member.second);
      }
      for (const auto& [key, value] : members) {
        text += key + ":" + value + ",";
      }
      return "{" + text + "}";
    }
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return "null";
}

void add_objects(const YAML::Node& document, std::vector<std::string>& into) {
  if (document.IsNull() || !document.IsDefined()) {
    return;
  }
  if (document["items"]) {
    for (const auto& item : document["items"]) {
      add_objects(item, into);
    }
    return;
  }
  into.push_back(document["kind"].Scalar() + "/" + document["metadata"]["name"].Scalar() + " " +
                 described(document));
}

bool is_separator(const std::string& line) {
  if (line.rfind("---", 0) != 0) {
    return false;
  }
  const std::size_t rest = line.find_first_not_of(" \t\r", 3);
  return rest == std::string::npos || line[rest] == '#';
}

void add_piece(const std::string& piece, std::vector<std::string>& into) {
  const auto documents = YAML::LoadAll(piece);
  if (!documents.empty()) {
    add_objects(documents.front(), into);
  }
}

// Objects one after the other, with nothing but white space between them.
std::vector<std::string> objects_of_json(const std::string& stream) {
  std::vector<std::string> objects;
  int depth = 0;
  bool in_string = false;
  std::string object;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const char c = stream[i];
    object += c;
    if (in_string && c == '\\') {
      object += stream[++i];
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '}')) {
      depth += c == '{' ? 1 : -1;
      if (depth == 0) {
        add_piece(object, objects);
        object.clear();
      }
    }
  }
  add_piece(object, objects);  // Only white space, or the reader complains.
  return objects;
}

}  // namespace

std::vector<std::string> objects_by_kubectl(const std::string& stream) {
  const std::size_t first = stream.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && stream[first] == '{') {
    return objects_of_json(stream);
  }
  std::vector<std::string> objects;
  std::string piece;
  std::istringstream lines(stream);
  for (std::string line; std::getline(lines, line);) {
    if (is_separator(line)) {
      add_piece(piece, objects);
      piece.clear();
    } else {
      piece += line + "\n";
    }
  }
  add_piece(piece, objects);
  return objects;
}

std::vector<std::string> objects_by_yaml(const std::string& stream) {
  std::vector<std::string> objects;
  for (const YAML::Node& document : YAML::LoadAll(stream)) {
    add_objects(document, objects);
  }
  return objects;
}

}  // namespace injector::cli::tests
