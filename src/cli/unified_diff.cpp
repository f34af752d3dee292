#include "cli/unified_diff.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace injector::cli {
namespace {

constexpr std::size_t kContext = 3;

// Beyond this many differing lines the middle is shown as one replacement: finding the smallest
// script costs the square of their number.
constexpr std::size_t kMaxScript = 2000;

using Lines = std::vector<std::string_view>;

enum class Op { Keep, Remove, Add };

struct Step {
  Op op;
  std::string_view line;
};

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// Myers' greedy search for the shortest edit script: furthest[d][k] is how far into `before` one
// gets on diagonal k with d edits.
class ShortestScript {
 public:
  ShortestScript(const Lines& before, const Lines& after)
      : before_(before),
        after_(after) {}

  // The steps from the beginning to the end; empty if more than kMaxScript edits are needed.
  std::vector<Step> find() {
    const std::size_t most = std::min(before_.size() + after_.size(), kMaxScript);
    for (std::size_t edits = 0; edits <= most; ++edits) {
      furthest_.emplace_back(2 * edits + 1);
      if (search(edits)) {
        return walk_back(edits);
      }
    }
    return {};
  }

 private:
  using Signed = std::ptrdiff_t;

  [[nodiscard]] Signed at(std::size_t edits, Signed diagonal) const {
    return furthest_[edits][static_cast<std::size_t>(diagonal + static_cast<Signed>(edits))];
  }

  // Whether the path to this diagonal comes by an added line (else by a removed one).
  [[nodiscard]] bool comes_down(std::size_t edits, Signed diagonal) const {
    const auto d = static_cast<Signed>(edits);
    if (diagonal == -d) {
      return true;
    }
    return diagonal != d && at(edits - 1, diagonal - 1) < at(edits - 1, diagonal + 1);
  }

  [[nodiscard]] Signed start_of(std::size_t edits, Signed diagonal) const {
    if (edits == 0) {
      return 0;
    }
    return comes_down(edits, diagonal) ? at(edits - 1, diagonal + 1)
                                       : at(edits - 1, diagonal - 1) + 1;
  }

  bool search(std::size_t edits) {
    const auto d = static_cast<Signed>(edits);
    for (Signed diagonal = -d; diagonal <= d; diagonal += 2) {
      Signed x = start_of(edits, diagonal);
      while (matches(x, x - diagonal)) {
        ++x;
      }
      furthest_[edits][static_cast<std::size_t>(diagonal + d)] = x;
      if (x >= static_cast<Signed>(before_.size()) &&
          x - diagonal >= static_cast<Signed>(after_.size())) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool matches(Signed x, Signed y) const {
    return x < static_cast<Signed>(before_.size()) && y < static_cast<Signed>(after_.size()) &&
           x >= 0 && y >= 0 &&
           before_[static_cast<std::size_t>(x)] == after_[static_cast<std::size_t>(y)];
  }

  [[nodiscard]] std::vector<Step> walk_back(std::size_t edits) const {
    std::vector<Step> steps;
    auto x = static_cast<Signed>(before_.size());
    Signed diagonal = x - static_cast<Signed>(after_.size());
    for (std::size_t d = edits;; --d) {
      const Signed start = start_of(d, diagonal);
      while (x > start) {
        steps.push_back({Op::Keep, before_[static_cast<std::size_t>(--x)]});
      }
      if (d == 0) {
        break;
      }
      if (comes_down(d, diagonal)) {
        steps.push_back({Op::Add, after_[static_cast<std::size_t>(x - diagonal - 1)]});
        ++diagonal;
      } else {
        steps.push_back({Op::Remove, before_[static_cast<std::size_t>(--x)]});
        --diagonal;
      }
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const Lines& before_;  // Not owned.
  const Lines& after_;   // Not owned.
  std::vector<std::vector<Signed>> furthest_;
};

std::vector<Step> replacement(const Lines& before, const Lines& after) {
  std::vector<Step> steps;
  for (const std::string_view line : before) {
    steps.push_back({Op::Remove, line});
  }
  for (const std::string_view line : after) {
    steps.push_back({Op::Add, line});
  }
  return steps;
}

std::vector<Step> script(const Lines& before, const Lines& after) {
  const auto [first, second] =
      std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto prefix = static_cast<std::size_t>(first - before.begin());
  std::size_t suffix = 0;
  while (suffix < std::min(before.size(), after.size()) - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix]) {
    ++suffix;
  }
  const Lines old_middle(first, before.end() - static_cast<std::ptrdiff_t>(suffix));
  const Lines new_middle(second, after.end() - static_cast<std::ptrdiff_t>(suffix));
  std::vector<Step> steps;
  for (std::size_t i = 0; i < prefix; ++i) {
    steps.push_back({Op::Keep, before[i]});
  }
  std::vector<Step> middle = ShortestScript(old_middle, new_middle).find();
  if (middle.empty()) {
    middle = replacement(old_middle, new_middle);
  }
  steps.insert(steps.end(), middle.begin(), middle.end());
  for (std::size_t i = before.size() - suffix; i < before.size(); ++i) {
    steps.push_back({Op::Keep, before[i]});
  }
  return steps;
}

std::string printed(const Step& step) {
  const char* const marks = " -+";
  std::string line = marks[static_cast<std::size_t>(step.op)] + std::string(step.line);
  if (!line.ends_with('\n')) {
    line += "\n\\ No newline at end of file\n";
  }
  return line;
}

// Steps begin to end (not included) make one hunk.
std::string hunk(const std::vector<Step>& steps, std::size_t begin, std::size_t end,
                 const DiffStart& start) {
  std::size_t old_count = 0;
  std::size_t new_count = 0;
  std::string body;
  for (std::size_t i = begin; i < end; ++i) {
    old_count += steps[i].op != Op::Add ? 1U : 0U;
    new_count += steps[i].op != Op::Remove ? 1U : 0U;
    body += printed(steps[i]);
  }
  return fmt::format("@@ -{},{} +{},{} @@\n{}", start.old_line - (old_count == 0 ? 1 : 0),
                     old_count, start.new_line - (new_count == 0 ? 1 : 0), new_count, body);
}

// Where the hunk that has a change at `change` ends: when more than two contexts are unchanged.
std::size_t hunk_end(const std::vector<Step>& steps, std::size_t change) {
  std::size_t end = change;
  for (std::size_t i = change; i < steps.size() && i <= end + 2 * kContext; ++i) {
    if (steps[i].op != Op::Keep) {
      end = i;
    }
  }
  return std::min(end + 1 + kContext, steps.size());
}

std::string_view color_of(char first) {
  switch (first) {
    case '+':
      return "\033[32m";
    case '-':
      return "\033[31m";
    case '@':
      return "\033[36m";
    default:
      return "";
  }
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, DiffStart start) {
  const std::vector<Step> steps = script(split(before), split(after));
  std::string diff;
  std::size_t done = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].op == Op::Keep) {
      continue;
    }
    const std::size_t begin = std::max(done, i > kContext ? i - kContext : 0);
    const std::size_t end = hunk_end(steps, i);
    start.old_line += begin - done;
    start.new_line += begin - done;
    diff += hunk(steps, begin, end, start);
    for (std::size_t j = begin; j < end; ++j) {
      start.old_line += steps[j].op != Op::Add ? 1U : 0U;
      start.new_line += steps[j].op != Op::Remove ? 1U : 0U;
    }
    done = end;
    i = end - 1;
  }
  return diff;
}

std::string coloured(std::string_view diff) {
  std::string text;
  for (std::string_view line : split(diff)) {
    const std::string_view color = color_of(line.front());
    const bool newline = line.ends_with('\n');
    line.remove_suffix(newline ? 1 : 0);
    text += color;
    text += line;
    text += color.empty() ? "" : "\033[0m";
    text += newline ? "\n" : "";
  }
  return text;
}

}  // namespace injector::cli
