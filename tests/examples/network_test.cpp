// The parts of examples/network-controller that need no API server.

#include "examples/network-controller/network.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

#include "examples/network-controller/file_driver.h"

namespace injector::examples {
namespace {

using tests::TempDir;

base::Result<Network> parse(const std::string& cidr, const std::string& gateway) {
  return parse_network({{"spec", {{"cidr", cidr}, {"gateway", gateway}}}});
}

std::string refusal(const std::string& cidr, const std::string& gateway) {
  const auto network = parse(cidr, gateway);
  return network ? "" : network.error().message;
}

TEST_CASE("network: a spec with a gateway inside its network is taken as it is", "[examples]") {
  const auto network = parse("192.168.0.0/16", "192.168.0.1");
  REQUIRE(network);
  REQUIRE(network.value() == Network{"192.168.0.0/16", "192.168.0.1"});
  REQUIRE(parse("0.0.0.0/0", "255.255.255.255"));
  REQUIRE(parse("10.1.2.3/32", "10.1.2.3"));
  REQUIRE(parse("10.1.2.2/31", "10.1.2.3"));
  REQUIRE(parse("128.0.0.0/1", "200.0.0.1"));
}

TEST_CASE("network: what is no network is refused by name", "[examples]") {
  for (const std::string cidr :
       {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/008", "10.0.0.0/-1",
        "10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.0/8/8", "10.0.0/8", "10.0.0.256/8", "10.0.0.1/8",
        "10.0.0.0/4294967304", "10.0.0.0/99999999999", "fd00::/64", "everything"}) {
    CHECK(refusal(cidr, "10.0.0.1") == "spec.cidr: \"" + cidr + "\" is not an IPv4 network");
  }
  CHECK_FALSE(parse(std::string("10.0.0.0\0x/8", 12), "10.0.0.1"));
  CHECK_FALSE(parse(std::string("10.0.0.0/8\0", 11), "10.0.0.1"));
}

TEST_CASE("network: a gateway outside the network is refused by name", "[examples]") {
  for (const std::string gateway :
       {"", "10.2.0.1", "10.0.255.255", "10.1.0.1/16", "::1", "first"}) {
    CHECK(refusal("10.1.0.0/16", gateway) ==
          "spec.gateway: \"" + gateway + "\" is not in 10.1.0.0/16");
  }
  CHECK_FALSE(parse("10.1.0.0/16", std::string("10.1.0.1\0", 9)));
  CHECK_FALSE(parse("10.1.2.3/32", "10.1.2.4"));
}

TEST_CASE("network: a spec of other types, or none, is refused", "[examples]") {
  CHECK_FALSE(parse_network(base::Json()));
  CHECK_FALSE(parse_network({{"spec", "10.0.0.0/8"}}));
  CHECK_FALSE(parse_network({{"spec", {{"cidr", 10}, {"gateway", nullptr}}}}));
}

TEST_CASE("network: a refusal stays short however long the spec is", "[examples]") {
  CHECK(refusal(std::string(1'000'000, '1'), "").size() < 200);
  CHECK(refusal("10.0.0.0/8", std::string(1'000'000, '1')).size() < 200);
}

TEST_CASE("file driver: finds what was created, updated and removed", "[examples]") {
  const TempDir dir;
  const Network one{"10.0.0.0/8", "10.0.0.1"};
  const Network two{"10.1.0.0/16", "10.1.0.1"};
  FileDriver driver(dir.path().string());
  REQUIRE_FALSE(driver.find("ns/a"));
  REQUIRE(driver.create("ns/a", one));
  REQUIRE(driver.find("ns/a").value() == one);
  REQUIRE(driver.update("ns/a", two));
  REQUIRE(FileDriver(dir.path().string()).find("ns/a").value() == two);
  REQUIRE(driver.remove("ns/a"));
  REQUIRE_FALSE(driver.find("ns/a"));
  REQUIRE(driver.remove("ns/a"));
}

TEST_CASE("file driver: lists its own networks and nothing else", "[examples]") {
  const TempDir dir;
  FileDriver driver(dir.path().string());
  REQUIRE(driver.create("ns/a", {}));
  REQUIRE(driver.create("ns/a.b-c", {}));
  REQUIRE(driver.create("other/a", {}));
  for (const char* name : {"ns_half.json.new", "notes.json", "ns_notes.txt"}) {
    static_cast<void>(dir.write(name, "{}"));
  }
  auto keys = driver.list().value();
  std::sort(keys.begin(), keys.end());
  REQUIRE(keys == std::vector<std::string>{"ns/a", "ns/a.b-c", "other/a"});
  REQUIRE_FALSE(FileDriver(dir.file("no-such-folder")).list());
}

TEST_CASE("file driver: a spoilt file is no network, and can be made anew", "[examples]") {
  const TempDir dir;
  const Network network{"10.0.0.0/8", "10.0.0.1"};
  FileDriver driver(dir.path().string());
  static_cast<void>(dir.write("ns_a.json", R"({"spec":{"cidr":"10.0.)"));
  REQUIRE_FALSE(driver.find("ns/a"));
  REQUIRE(driver.create("ns/a", network));
  REQUIRE(driver.find("ns/a").value() == network);
}

TEST_CASE("file driver: a failure names the file", "[examples]") {
  const TempDir dir;
  FileDriver driver(dir.file("no-such-folder"));
  const auto created = driver.create("ns/a", {});
  REQUIRE_FALSE(created);
  REQUIRE(created.error().message.find(dir.file("no-such-folder/ns_a.json")) == 0);
}

}  // namespace
}  // namespace injector::examples
