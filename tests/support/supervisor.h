// Runs a test program so that nothing of it stays behind, however it ends.

#pragma once

#include <functional>

namespace injector::tests {

/// Runs the body in a child process with a TMPDIR of its own and returns its exit code (128 +
/// signal if a signal ended it). When it returns, every process that the body started, and theirs,
/// are gone, and so is TMPDIR: after an assertion, an abort, SIGINT, SIGTERM or SIGHUP to this
/// process as well. A body that ends with 0 but left a process or a file behind has failed: that is
/// 1, and said on stderr. After a kill -9 of this process only files remain.
///
/// Call it from main(), before there are threads. Debuggers have to follow the child.
int supervise(const std::function<int()>& body);

}  // namespace injector::tests
