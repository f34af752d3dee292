# find_package(envoy-initializer-runtime): client, informers and control loops for other people's controllers. It is
# inj_kube and whatever that links, so a new dependency needs no change here; examples/network-controller uses it.
#
#   cmake --install build/release --component runtime --prefix DIR
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What has to be found again where the package is used: the package of each imported target.
set(package_of_Threads::Threads Threads)
set(package_of_nlohmann_json::nlohmann_json nlohmann_json)
set(package_of_fmt::fmt fmt)
set(package_of_spdlog::spdlog spdlog)
set(package_of_OpenSSL::SSL OpenSSL)
set(package_of_OpenSSL::Crypto OpenSSL)
set(package_of_prometheus-cpp::core prometheus-cpp)
set(package_of_yaml-cpp yaml-cpp)

# Appends to `modules` and `packages` what `target` links.
function(collect_links target)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^inj_" AND NOT link IN_LIST modules)
      list(APPEND modules ${link})
      collect_links(${link})
    elseif(DEFINED package_of_${link})
      list(APPEND packages ${package_of_${link}})
    endif()
  endforeach()
  set(modules ${modules} PARENT_SCOPE)
  set(packages ${packages} PARENT_SCOPE)
endfunction()

set(modules inj_kube)
set(packages)
collect_links(inj_kube)
list(REMOVE_DUPLICATES packages)

set(package_headers ${CMAKE_INSTALL_INCLUDEDIR}/envoy-initializer)
set(package_files ${CMAKE_INSTALL_LIBDIR}/cmake/envoy-initializer-runtime)
foreach(module IN LISTS modules)
  string(REGEX REPLACE "^inj_" "" name ${module})
  set_target_properties(${module} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${module} INTERFACE $<INSTALL_INTERFACE:${package_headers}>)
  target_compile_features(${module} INTERFACE cxx_std_20)
  target_compile_definitions(${module} INTERFACE "$<INSTALL_INTERFACE:${INJ_JSON_DEFINITIONS}>")
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/${name})
    install(DIRECTORY src/${name}/ DESTINATION ${package_headers}/${name} COMPONENT runtime
      FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(TARGETS ${modules} EXPORT envoy-initializer-runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/envoy-initializer COMPONENT runtime)
install(EXPORT envoy-initializer-runtime NAMESPACE envoy-initializer:: FILE targets.cmake
  DESTINATION ${package_files} COMPONENT runtime)

set(find_dependencies "include(CMakeFindDependencyMacro)\n")
foreach(package IN LISTS packages)
  string(APPEND find_dependencies "find_dependency(${package})\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/package/envoy-initializer-runtime-config.cmake
  "${find_dependencies}include(\${CMAKE_CURRENT_LIST_DIR}/targets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/envoy-initializer-runtime-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/envoy-initializer-runtime-config.cmake
  ${PROJECT_BINARY_DIR}/package/envoy-initializer-runtime-config-version.cmake
  DESTINATION ${package_files} COMPONENT runtime)
