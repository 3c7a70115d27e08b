# What `cmake --install` puts where besides the programs, and the packages that CPack makes of it: a Debian package and a tarball that runs
# from any folder (front/main.c finds the programs beside itself).
install(DIRECTORY recipes sample DESTINATION share/fretsaw)
install(DIRECTORY jobs/slurm DESTINATION share/fretsaw/jobs USE_SOURCE_PERMISSIONS)
install(FILES jobs/mpi.sh DESTINATION share/fretsaw/jobs)
install(PROGRAMS jobs/mpirun.sh DESTINATION share/fretsaw/jobs)
install(FILES jobs/kaggle/cell.py DESTINATION share/fretsaw/jobs/kaggle)
install(PROGRAMS jobs/kaggle/submit.sh DESTINATION share/fretsaw/jobs/kaggle)
install(DIRECTORY docs/ DESTINATION share/doc/fretsaw)
install(FILES README.md DESTINATION share/doc/fretsaw)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME fretsaw)
set(CPACK_PACKAGE_VENDOR fretsaw)
set(CPACK_PACKAGE_CONTACT "fretsaw maintainers <fretsaw@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "comment CSVs to submission.csv by fine-tuning BERT over MPI")
set(CPACK_PACKAGE_DESCRIPTION "Four programs tokenize comment CSVs, shuffle them into compressed shards, fine-tune BERT and write a submission:
 the same bytes out for the same inputs, whatever the number of ranks and threads. No Python, no network.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME "fretsaw-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # the libraries, with the versions the programs were linked against
if(FRETSAW_MPI)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "openmpi-bin") # mpirun, which no library asks for
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client, man-db, bash-completion")
# The tarball holds one folder, fretsaw-VERSION-..., and no /usr in it.
file(WRITE ${CMAKE_BINARY_DIR}/package_options.cmake [[
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_PACKAGING_INSTALL_PREFIX "/")
endif()
]])
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_BINARY_DIR}/package_options.cmake)
include(CPack)
