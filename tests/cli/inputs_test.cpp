#include "cli/inputs.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

namespace injector::cli {
namespace {

using tests::TempDir;
using Names = std::vector<std::string>;

// b.yaml, a.json, c.yml, d.txt, deep/e.yaml, deep/deeper/f.yaml
class Tree {
 public:
  Tree() {
    std::filesystem::create_directories(dir_.file("deep/deeper"));
    for (const char* name :
         {"b.yaml", "a.json", "c.yml", "d.txt", "deep/e.yaml", "deep/deeper/f.yaml"}) {
      static_cast<void>(dir_.write(name, "kind: Pod\n"));
    }
  }

  [[nodiscard]] std::string path() const { return dir_.path().string(); }

  [[nodiscard]] std::string file(const std::string& name) const { return dir_.file(name); }

 private:
  TempDir dir_;
};

TEST_CASE("inputs: a directory is its manifests, sorted, without its subdirectories", "[cli]") {
  const Tree tree;
  const auto files = expand_inputs({tree.path()});
  REQUIRE(files.has_value());
  CHECK(files.value() == Names{tree.file("a.json"), tree.file("b.yaml"), tree.file("c.yml")});
}

TEST_CASE("inputs: recursion reads the subdirectories as well", "[cli]") {
  const Tree tree;
  std::filesystem::create_directory_symlink(tree.path(), tree.file("deep/circle"));
  const auto files = expand_inputs({tree.path()}, Recursion::Yes);
  REQUIRE(files.has_value());
  CHECK(files.value() == Names{tree.file("a.json"), tree.file("b.yaml"), tree.file("c.yml"),
                               tree.file("deep/deeper/f.yaml"), tree.file("deep/e.yaml")});
}

TEST_CASE("inputs: files keep the order of the arguments, whatever their ending", "[cli]") {
  const Tree tree;
  const auto files =
      expand_inputs({tree.file("d.txt"), "-", tree.file("deep"), tree.file("a.json")});
  REQUIRE(files.has_value());
  CHECK(files.value() ==
        Names{tree.file("d.txt"), "-", tree.file("deep/e.yaml"), tree.file("a.json")});
}

TEST_CASE("inputs: what is missing is named, and an empty directory hints at -R", "[cli]") {
  const TempDir dir;
  const auto missing = expand_inputs({dir.file("nothing.yaml")});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message == dir.file("nothing.yaml") + ": no such file or directory");
  const auto empty = expand_inputs({dir.path().string()});
  REQUIRE_FALSE(empty.has_value());
  CHECK(empty.error().message.find("-R") != std::string::npos);
  CHECK_FALSE(expand_inputs({dir.path().string()}, Recursion::Yes).has_value());
}

TEST_CASE("inputs: a whole file, standard input, but no directory", "[cli]") {
  const Tree tree;
  std::istringstream in("from stdin");
  CHECK(read_input("-", in).value() == "from stdin");
  CHECK(read_input(tree.file("b.yaml"), in).value() == "kind: Pod\n");
  CHECK_FALSE(read_input(tree.path(), in).has_value());
  CHECK_FALSE(read_input(tree.file("missing"), in).has_value());
}

}  // namespace
}  // namespace injector::cli
