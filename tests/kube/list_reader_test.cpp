#include "kube/list_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"

namespace injector::kube {
namespace {

struct Seen {
  std::vector<std::string> items;
  std::string version;
  std::string more;
};

base::Result<Seen> read(std::string_view text, std::size_t piece, std::size_t max_item = 1000) {
  Seen seen;
  ListReader reader(max_item,
                    [&](base::Json item) { seen.items.push_back(base::write_json(item)); });
  while (!text.empty()) {
    INJ_TRY(reader.take(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  INJ_ASSIGN(const ListMetadata metadata, reader.finish());
  seen.version = metadata.resource_version;
  seen.more = metadata.continue_token;
  return seen;
}

}  // namespace

TEST_CASE("list reader: items come out one by one however the bytes arrive", "[kube]") {
  const std::string text =
      R"({"kind":"items","a":{"items":[{"b":1}]},"metadata":{"resourceVersion":"7","continue":"c"},)"
      R"( "items" : [ {"a":"]}\"\\"}, {"b":[{},[{"c":{}}]]} ,{} ], "x\"items":[{"no":1}], "z":[{}]})";
  for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
    CAPTURE(piece);
    const auto seen = read(text, piece);
    REQUIRE(seen.has_value());
    CHECK(seen.value().items ==
          std::vector<std::string>{R"({"a":"]}\"\\"})", R"({"b":[{},[{"c":{}}]]})", "{}"});
    CHECK(seen.value().version == "7");
    CHECK(seen.value().more == "c");
  }
}

TEST_CASE("list reader: a list without items is one", "[kube]") {
  for (const char* text :
       {R"({"metadata":{}})", R"({"metadata":{},"items":null})", R"({"items":[],"metadata":{}})"}) {
    CAPTURE(text);
    const auto seen = read(text, 3);
    REQUIRE(seen.has_value());
    CHECK(seen.value().items.empty());
  }
}

TEST_CASE("list reader: what is not a list of objects is Internal", "[kube]") {
  for (const char* text :
       {"", "{}", "[]", "{\"items\":[]", R"({"metadata":{},"items":[{}{}]})",
        R"({"metadata":{},"items":[{},]})", R"({"metadata":{},"items":[{"a":]}]})",
        R"({"metadata":{},"items":[{})", R"({"metadata":{},"items":[5]})",
        R"({"metadata":{},"items":{}})", R"({"metadata":{},"items":[{}]}})",
        R"({"metadata":{},"items":[[{}]]})"}) {
    CAPTURE(text);
    const auto seen = read(text, 4);
    REQUIRE_FALSE(seen.has_value());
    CHECK(seen.error().code == base::ErrorCode::Internal);
  }
}

TEST_CASE("list reader: the limit is for one item, not for the list", "[kube]") {
  std::string text = R"({"metadata":{},"items":[{"a":1})";
  for (int i = 0; i < 100; ++i) {
    text += R"(,{"a":1})";
  }
  CHECK(read(text + "]}", 10, 300).value().items.size() == 101);
  CHECK_FALSE(read(R"({"metadata":{},"items":[{"a":")" + std::string(300, 'x') + "\"}]}", 10, 300)
                  .has_value());
}

}  // namespace injector::kube
