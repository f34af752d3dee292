// Gives each of the hardening flags something to do; tests/e2e/hardening_test looks at what became
// of it.

#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  char buffer[16] = {};
  std::strcpy(buffer, argv[0] + std::strlen(argv[0]) / 2);  // FORTIFY and the stack protector.
  const std::vector<int> numbers(static_cast<std::size_t>(argc));
  return numbers[std::strlen(buffer)];  // Assertions of the standard library.
}
