# Everything comes from Debian; scripts/packages.txt lists the packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(OTF2 REQUIRED IMPORTED_TARGET otf2)
pkg_check_modules(MUPARSER REQUIRED IMPORTED_TARGET muparser)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(Ceres REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(TBB REQUIRED)
find_package(Boost 1.75 REQUIRED)
find_package(cereal REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
if(FARSCALE_TESTS)
  find_package(GTest REQUIRED)
endif()
if(FARSCALE_TESTS OR FARSCALE_FUZZ OR FARSCALE_BENCHMARKS)
  find_package(ZLIB REQUIRED)  # compresses the traces of tests
endif()
if(FARSCALE_TESTS OR FARSCALE_PROGRAM_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
if(FARSCALE_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# What --version says of them. OTF2, muParser, ISA-L and libelf are found by pkg-config, the others by their own packages.
set(FARSCALE_LIBRARY_VERSIONS
    "OTF2 ${OTF2_VERSION}, Ceres ${Ceres_VERSION}, Eigen ${Eigen3_VERSION}, muParser ${MUPARSER_VERSION}, \
fmt ${fmt_VERSION}, toml++ ${tomlplusplus_VERSION}, nlohmann-json ${nlohmann_json_VERSION}, CLI11 ${CLI11_VERSION}, \
oneTBB ${TBB_VERSION}, Boost ${Boost_VERSION}, cereal ${cereal_VERSION}, OpenSSL ${OPENSSL_VERSION}, ISA-L ${ISAL_VERSION}, libelf ${ELF_VERSION}")
