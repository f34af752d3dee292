// Where the tests find what they use. In one object file, so that the compiler cache serves
// checkouts in other places.

#pragma once

namespace injector::tests {

extern const char* const kProgram;            // envoy-initializer, as built beside the tests.
extern const char* const kNetworkController;  // The example's program, likewise.
extern const char* const kSourceDir;
extern const char* const kTestData;  // tests/

}  // namespace injector::tests
