# Writes FILES as arrays into the C++ source OUTPUT, which defines dashboard::assets().
set(types_html "text/html; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_svg "image/svg+xml")

set(arrays "")
set(entries "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  file(READ ${file} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "// ${name}\nconstexpr std::array<unsigned char, ${size}> kFile${number}{\n${bytes}};\n\n")
  string(APPEND entries "      {\"${path}\", \"${types_${extension}}\", text(kFile${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUTPUT} "// Written by web/embed.cmake.

#include \"dashboard/assets.h\"

#include <array>
#include <cstddef>

namespace injector::dashboard {
namespace {

${arrays}template <std::size_t size>
std::string_view text(const std::array<unsigned char, size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

const std::vector<Asset>& assets() {
  static const std::vector<Asset> kAssets{
${entries}  };
  return kAssets;
}

}  // namespace injector::dashboard
")
