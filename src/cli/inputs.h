// -f: files, directories, standard input.

#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace injector::cli {

inline constexpr const char* kStandardInput = "-";

/// Whether a directory stands for the files below its subdirectories as well.
enum class Recursion { No, Yes };

/// The files that the arguments of -f mean, in their order. A directory means its *.yaml, *.yml and
/// *.json, sorted. A missing file or a directory without any is an error.
[[nodiscard]] base::Result<std::vector<std::string>> expand_inputs(
    const std::vector<std::string>& arguments, Recursion recursion = Recursion::No);

/// The whole of a small file (a template, one object), or of standard input for "-".
[[nodiscard]] base::Result<std::string> read_input(const std::string& path, std::istream& in);

}  // namespace injector::cli
