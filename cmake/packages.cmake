# `cpack` in a build folder makes Debian packages, one for every install component:
#   farscale             the program with its data, man page and completions
#   farscale-collector   the libraries for `farscale measure` and `farscale trace`; depends on the MPIs they were built for
#   farscale-doc         the documentation
# Dependencies are those that dpkg-shlibdeps reads off the binaries, so a package fits the release it was built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME farscale)
set(CPACK_PACKAGE_VENDOR "The farscale project")
set(CPACK_PACKAGE_CONTACT "The farscale project <farscale@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "scaling predictions for MPI programs from traces of small runs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program collector docs)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME farscale)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "farscale-collector, farscale-doc")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "farscale reads OTF2 or Paraver traces of an MPI program taken at low core
counts, reduces its phases to their efficiency factors, fits a scaling model to
every factor, and reports how the program will scale to core counts nobody has
run yet.")
set(CPACK_DEBIAN_COLLECTOR_PACKAGE_NAME farscale-collector)
set(CPACK_DEBIAN_COLLECTOR_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COLLECTOR_PACKAGE_DEPENDS "farscale (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_COLLECTOR_DESCRIPTION
    "Libraries that farscale measure and farscale trace load into MPI programs, with
the header and Fortran module that mark regions in them.")
set(CPACK_DEBIAN_DOCS_PACKAGE_NAME farscale-doc)
set(CPACK_DEBIAN_DOCS_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOCS_DESCRIPTION "User guide, formulas, file formats and schemas of farscale.")
include(CPack)
