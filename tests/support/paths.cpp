#include "tests/support/paths.h"

namespace injector::tests {

const char* const kProgram = INJ_PROGRAM;
const char* const kNetworkController = INJ_NETWORK_CONTROLLER;
const char* const kSourceDir = INJ_SOURCE_DIR;
const char* const kTestData = INJ_SOURCE_DIR "/tests";

}  // namespace injector::tests
