#include "runtime/delta_fifo.h"

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/runtime/fakes.h"

namespace injector::runtime {
namespace {

using fakes::object;
using Strings = std::vector<std::string>;

std::string describe(const Delta& delta) {
  const char* const names[] = {"added", "updated", "deleted", "replaced", "sync"};
  std::string text = names[static_cast<int>(delta.type)];
  text += "@" + delta.object->resource_version;
  return delta.final_state_known ? text : text + "?";
}

Strings describe(const DeltaFifo::Batch& batch) {
  Strings texts{batch.marks_sync() ? "synced" : batch.key()};
  for (const Delta& delta : batch.deltas()) {
    texts.push_back(describe(delta));
  }
  return texts;
}

// Takes one batch and does with the store what an informer does.
Strings work_off(DeltaFifo& fifo, Store& store) {
  const auto batch = fifo.try_take();
  if (!batch.has_value()) {
    return {};
  }
  for (const Delta& delta : batch->deltas()) {
    if (delta.type == DeltaType::Deleted) {
      store.erase(batch->key());
    } else {
      store.put(delta.object);
    }
  }
  return describe(*batch);
}

TEST_CASE("delta fifo: a key keeps its place and gathers its changes in order", "[runtime]") {
  Store store;
  DeltaFifo fifo(store);
  fifo.add(object("a", "1"));
  fifo.add(object("b", "2"));
  fifo.update(object("a", "3"));
  fifo.remove(object("a", "4"));
  REQUIRE(work_off(fifo, store) == Strings{"ns/a", "added@1", "updated@3", "deleted@4"});
  REQUIRE(work_off(fifo, store) == Strings{"ns/b", "added@2"});
  REQUIRE(work_off(fifo, store).empty());
}

TEST_CASE("delta fifo: two deletions in a row are one, the one that knows", "[runtime]") {
  Store store;
  store.put(object("a", "1"));
  DeltaFifo fifo(store);

  SECTION("the event comes before the list") {
    fifo.remove(object("a", "2"));
    fifo.replace({});
  }
  SECTION("the list comes before the event") {
    fifo.replace({});
    fifo.remove(object("a", "2"));
  }
  REQUIRE(work_off(fifo, store) == Strings{"ns/a", "deleted@2"});
}

TEST_CASE("delta fifo: a key that came back in between is deleted twice", "[runtime]") {
  Store store;
  store.put(object("a", "1"));
  DeltaFifo fifo(store);
  fifo.remove(object("a", "2"));
  fifo.add(object("a", "3"));
  fifo.remove(object("a", "4"));
  REQUIRE(work_off(fifo, store) == Strings{"ns/a", "deleted@2", "added@3", "deleted@4"});
}

TEST_CASE("delta fifo: a deletion of an unknown key is dropped", "[runtime]") {
  Store store;
  DeltaFifo fifo(store);
  fifo.remove(object("a", "1"));
  REQUIRE_FALSE(fifo.try_take().has_value());
}

TEST_CASE("delta fifo: a key in hand is known although no store has it", "[runtime]") {
  Store store;
  DeltaFifo fifo(store);
  fifo.add(object("a", "1"));
  {
    const auto batch = fifo.try_take();
    REQUIRE(batch.has_value());
    fifo.remove(object("a", "2"));
    store.put(batch->deltas().back().object);
  }
  REQUIRE(work_off(fifo, store) == Strings{"ns/a", "deleted@2"});
}

TEST_CASE("delta fifo: a key deleted by the batch in hand is unknown", "[runtime]") {
  Store store;
  store.put(object("a", "1"));
  DeltaFifo fifo(store);
  fifo.remove(object("a", "2"));
  const auto batch = fifo.try_take();
  REQUIRE(batch.has_value());
  fifo.remove(object("a", "3"));
  fifo.replace({});
  REQUIRE(describe(*batch) == Strings{"ns/a", "deleted@2"});
  REQUIRE_FALSE(fifo.has_synced());
}

TEST_CASE("delta fifo: replace deletes what is in line, in hand or stored only", "[runtime]") {
  Store store;
  store.put(object("stored", "1"));
  store.put(object("kept", "1"));
  DeltaFifo fifo(store);
  fifo.add(object("in-hand", "2"));
  fifo.add(object("in-line", "3"));
  {
    const auto batch = fifo.try_take();
    fifo.replace({object("kept", "5")});
    store.put(batch->deltas().back().object);
  }
  REQUIRE(work_off(fifo, store) == Strings{"ns/in-line", "added@3", "deleted@3?"});
  REQUIRE(work_off(fifo, store) == Strings{"ns/kept", "replaced@5"});
  REQUIRE(work_off(fifo, store) == Strings{"ns/in-hand", "deleted@2?"});
  REQUIRE(work_off(fifo, store) == Strings{"ns/stored", "deleted@1?"});
  REQUIRE(store.size() == 1);
}

TEST_CASE("delta fifo: resync repeats the store but not keys under way", "[runtime]") {
  Store store;
  store.put(object("quiet", "1"));
  store.put(object("in-line", "1"));
  store.put(object("in-hand", "1"));
  DeltaFifo fifo(store);
  fifo.update(object("in-hand", "2"));
  fifo.update(object("in-line", "2"));
  {
    const auto batch = fifo.try_take();
    fifo.resync();
    store.put(batch->deltas().back().object);
  }
  REQUIRE(work_off(fifo, store) == Strings{"ns/in-line", "updated@2"});
  REQUIRE(work_off(fifo, store) == Strings{"ns/quiet", "sync@1"});
  REQUIRE(work_off(fifo, store).empty());
  REQUIRE(store.get("ns/in-hand")->resource_version == "2");
}

TEST_CASE("delta fifo: is synced once the first list is worked off", "[runtime]") {
  Store store;
  DeltaFifo fifo(store);
  fifo.replace({object("a", "1"), object("b", "1")});
  fifo.add(object("late", "2"));
  REQUIRE(fifo.try_take()->initial());
  REQUIRE(work_off(fifo, store) == Strings{"ns/b", "replaced@1"});
  REQUIRE_FALSE(fifo.has_synced());
  REQUIRE(work_off(fifo, store) == Strings{"synced"});
  REQUIRE(fifo.has_synced());
  REQUIRE_FALSE(fifo.try_take()->initial());
}

TEST_CASE("delta fifo: an empty first list is synced too, and only once", "[runtime]") {
  Store store;
  DeltaFifo fifo(store);
  REQUIRE_FALSE(fifo.try_take().has_value());
  fifo.replace({});
  REQUIRE(work_off(fifo, store) == Strings{"synced"});
  fifo.replace({});
  REQUIRE_FALSE(fifo.try_take().has_value());
}

TEST_CASE("delta fifo: take waits for a change and ends with the stop", "[runtime][threads]") {
  Store store;
  DeltaFifo fifo(store);
  Strings taken;
  {
    fakes::Witness witness;
    const std::jthread consumer([&](const std::stop_token& stop) {
      while (const auto batch = fifo.take(stop)) {
        witness.change([&] { taken.push_back(batch->key()); });
      }
    });
    fifo.add(object("a", "1"));
    REQUIRE(witness.eventually([&] { return taken.size() == 1; }));
  }
  REQUIRE(taken == Strings{"ns/a"});
}

}  // namespace
}  // namespace injector::runtime
