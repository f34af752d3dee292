// --in-place: files are replaced all or none, stay the same file to everybody else, and are never
// replaced by something that was made from an older content.

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/file_replacer.h"
#include "tests/cli/run_commands.h"
#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

namespace injector::cli::tests {
namespace {

namespace fs = std::filesystem;
using injector::tests::read_file;
using injector::tests::TempDir;

RewriteOptions in_place(std::vector<std::string> files) {
  RewriteOptions options = options_for(std::move(files));
  options.in_place = true;
  return options;
}

Output inject_in_place(std::vector<std::string> files) {
  return run_inject_on(in_place(std::move(files)), context_with(kTemplate));
}

std::size_t files_in(const TempDir& dir) {
  const fs::directory_iterator entries(dir.path());
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

struct stat status_of(const std::string& path) {
  struct stat status {};

  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status;
}

// Puts `after` for `before` in the place of `path`.
base::Result<void> replace(FileReplacer& replacer, const std::string& path,
                           const std::string& before, const std::string& after) {
  if (auto opened = replacer.open(path); !opened) {
    return opened;
  }
  replacer.saw(before);
  replacer.write(after);
  return replacer.close();
}

const std::string kAnchored =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n"
    "    initializer.kubernetes.io/envoy: 'true'\nspec:\n  volumes: &v # all of them\n  - name: a\n"
    "  containers:\n  - name: app\n    x: *v\n";

TEST_CASE("in place: each file has what inject prints for it alone", "[cli]") {
  const TempDir dir;
  const std::vector<std::string> texts = {asking_pod("a") + "---\n", "# c\n" + asking_pod("b"),
                                          "kind: ConfigMap\n"};
  std::vector<std::string> files;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    files.push_back(dir.write(std::to_string(i) + ".yaml", texts[i]));
  }
  const Output output = inject_in_place(files);
  CHECK(output.code == kDone);
  CHECK(output.out.empty());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(read_file(files[i]) == inject_text(texts[i]).out);
  }
  REQUIRE(run_uninject_on(in_place(files)).code == kDone);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(read_file(files[i]) == texts[i]);
  }
  CHECK(files_in(dir) == texts.size());
}

TEST_CASE("in place: a run that fails claims nothing and changes no file", "[cli]") {
  const TempDir dir;
  const std::string good = dir.write("a.yaml", asking_pod("web"));
  const std::string bad = dir.write("b.yaml", "a: [\n");
  const Output output = inject_in_place({good, bad});
  CHECK(output.code == kFailed);
  CHECK_FALSE(output.says("injected"));
  CHECK(output.says("error: " + bad));
  CHECK(output.says("no file was changed"));
  CHECK(read_file(good) == asking_pod("web"));
  CHECK(files_in(dir) == 2);
}

TEST_CASE("in place: a document that would be reformatted needs --allow-reformat", "[cli]") {
  const TempDir dir;
  const std::string other = dir.write("a.yaml", asking_pod("web"));
  const std::string file = dir.write("b.yaml", kAnchored);
  RewriteOptions options = in_place({other, file});
  const Output refused = run_inject_on(options, context_with(kTemplate));
  CHECK(refused.code == kFailed);
  CHECK(refused.says(file + ": document at line 1: "));
  CHECK(refused.says("--allow-reformat"));
  CHECK(read_file(file) == kAnchored);
  CHECK(read_file(other) == asking_pod("web"));
  options.allow_reformat = true;
  const Output allowed = run_inject_on(options, context_with(kTemplate));
  CHECK(allowed.code == kDone);
  CHECK(allowed.says("reformatted"));
  CHECK(read_file(file).find("image: proxy:1") != std::string::npos);
}

TEST_CASE("in place: comments are not lost to -o json unless that is allowed", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "# why\n" + asking_pod("web"));
  RewriteOptions options = in_place({file});
  options.output = OutputFormat::Json;
  CHECK(run_inject_on(options, context_with(kTemplate)).code == kFailed);
  CHECK(read_file(file) == "# why\n" + asking_pod("web"));
  options.allow_reformat = true;
  CHECK(run_inject_on(options, context_with(kTemplate)).code == kDone);
  CHECK(read_file(file).starts_with("{"));
}

TEST_CASE("in place: a file keeps its mode, and a symbolic link stays one", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("real.yaml", asking_pod("web"));
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  fs::create_symlink("real.yaml", dir.file("link.yaml"));
  REQUIRE(inject_in_place({dir.file("link.yaml")}).code == kDone);
  CHECK(fs::is_symlink(dir.file("link.yaml")));
  CHECK(read_file(file) == inject_text(asking_pod("web")).out);
  CHECK((status_of(file).st_mode & 07777U) == 0640U);
}

TEST_CASE("in place: a file keeps its owner", "[cli]") {
  if (::geteuid() != 0) {
    SUCCEED("only root can give a file to somebody else");
    return;
  }
  const TempDir dir;
  const std::string file = dir.write("a.yaml", asking_pod("web"));
  REQUIRE(::chown(file.c_str(), 12345, 23456) == 0);
  REQUIRE(inject_in_place({file}).code == kDone);
  CHECK(status_of(file).st_uid == 12345);
  CHECK(status_of(file).st_gid == 23456);
}

TEST_CASE("in place: hard links stay links to the same file", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", asking_pod("web"));
  fs::create_hard_link(file, dir.file("b.txt"));
  REQUIRE(inject_in_place({file}).code == kDone);
  CHECK(read_file(dir.file("b.txt")) == inject_text(asking_pod("web")).out);
  CHECK(status_of(file).st_ino == status_of(dir.file("b.txt")).st_ino);
  REQUIRE(run_uninject_on(in_place({file})).code == kDone);
  CHECK(read_file(dir.file("b.txt")) == asking_pod("web"));
}

TEST_CASE("in place: a file that does not change is not touched", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "kind: ConfigMap\n");
  const struct stat before = status_of(file);
  REQUIRE(inject_in_place({file}).code == kDone);
  CHECK(status_of(file).st_ino == before.st_ino);
  CHECK(status_of(file).st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

TEST_CASE("in place: a file that is named twice is edited once", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", asking_pod("web"));
  const Output output = inject_in_place({file, dir.path().string()});
  CHECK(output.code == kDone);
  CHECK(read_file(file) == inject_text(asking_pod("web")).out);
}

TEST_CASE("file replacer: what was appended meanwhile is not lost", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  const std::string other = dir.write("b.yaml", "other\n");
  FileReplacer replacer;
  REQUIRE(replace(replacer, other, "other\n", "new\n").has_value());
  REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
  std::ofstream(file, std::ios::app) << "appended\n";
  const auto done = replacer.commit();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().message.find(file + ": changed while this command was running") == 0);
  CHECK(read_file(file) == "old\nappended\n");
  CHECK(read_file(other) == "other\n");
  CHECK(replacer.replaced_count() == 0);
}

TEST_CASE("file replacer: a new file under the same name is a change as well", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  FileReplacer replacer;
  REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
  dir.replace("a.yaml", "else\n");
  REQUIRE_FALSE(replacer.commit().has_value());
  CHECK(read_file(file) == "else\n");
}

TEST_CASE("file replacer: knows which files it has replaced", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  const std::string same = dir.write("b.yaml", "same\n");
  FileReplacer replacer;
  REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
  REQUIRE(replace(replacer, same, "same\n", "same\n").has_value());
  CHECK_FALSE(replacer.replaced(file));
  REQUIRE(replacer.commit().has_value());
  CHECK(replacer.replaced(file));
  CHECK_FALSE(replacer.replaced(same));
}

TEST_CASE("file replacer: a file that another process has locked is left alone", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  const base::FileDescriptor other(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
  FileReplacer replacer;
  REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
  const auto done = replacer.commit();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().message == file + ": locked by another process");
  CHECK(read_file(file) == "old\n");
}

TEST_CASE("file replacer: a file with extended attributes stays the same file", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old, and longer\n");
  if (::setxattr(file.c_str(), "user.note", "x", 1, 0) != 0) {
    WARN("no extended attributes here: not checked");
    return;
  }
  const struct stat before = status_of(file);
  FileReplacer replacer;
  REQUIRE(replace(replacer, file, "old, and longer\n", "new\n").has_value());
  REQUIRE(replacer.commit().has_value());
  CHECK(status_of(file).st_ino == before.st_ino);
  CHECK(read_file(file) == "new\n");
}

// Nobody in particular, for as long as it lives; only root can become so.
class AsNobody {
 public:
  AsNobody() { REQUIRE(::seteuid(kNobody) == 0); }

  ~AsNobody() { static_cast<void>(::seteuid(0)); }

  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

TEST_CASE("file replacer: a file of somebody else that we may write keeps its owner", "[cli]") {
  if (::geteuid() != 0) {
    WARN("not root: not checked");
    return;
  }
  for (const mode_t directory : {0755U, 0777U}) {  // May files be made beside it?
    const TempDir dir;
    const std::string file = dir.write("a.yaml", "old, and longer\n");
    REQUIRE(::chmod(dir.path().c_str(), directory) == 0);
    REQUIRE(::chmod(file.c_str(), 0666) == 0);
    {
      const AsNobody nobody;
      FileReplacer replacer;
      REQUIRE(replace(replacer, file, "old, and longer\n", "new\n").has_value());
      REQUIRE(replacer.commit().has_value());
    }
    CHECK(read_file(file) == "new\n");
    CHECK(status_of(file).st_uid == 0);
    CHECK(files_in(dir) == 1);
  }
}

TEST_CASE("file replacer: a file that we may only read is an error and stays", "[cli]") {
  if (::geteuid() != 0) {
    WARN("not root: not checked");
    return;
  }
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  {
    const AsNobody nobody;
    FileReplacer replacer;
    REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
    const auto done = replacer.commit();
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().message.find("replace " + file + ": Permission denied") == 0);
  }
  CHECK(read_file(file) == "old\n");
}

TEST_CASE("file replacer: leaves nothing beside the file, whenever it ends", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  {
    FileReplacer replacer;
    REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
    CHECK(files_in(dir) == 1);  // Where the file system knows files without a name: all do here.
  }
  CHECK(files_in(dir) == 1);
  CHECK(read_file(file) == "old\n");
}

TEST_CASE("file replacer: removes what a killed run left, but not what is in use", "[cli]") {
  const TempDir dir;
  const std::string file = dir.write("a.yaml", "old\n");
  const std::string left = dir.write(".envoy-initializer-123-4", "half");
  const std::string used = dir.write(".envoy-initializer-123-5", "half");
  const base::FileDescriptor owner(::open(used.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(owner.get(), LOCK_EX | LOCK_NB) == 0);
  FileReplacer replacer;
  REQUIRE(replace(replacer, file, "old\n", "new\n").has_value());
  REQUIRE(replacer.commit().has_value());
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(used));
  CHECK(read_file(file) == "new\n");
}

}  // namespace
}  // namespace injector::cli::tests
