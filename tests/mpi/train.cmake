add_executable(train_make_data mpi/train_make_data.c mpi/train_data.c)
target_link_libraries(train_make_data PRIVATE fretsaw_store)
target_include_directories(train_make_data PRIVATE ${PROJECT_SOURCE_DIR}/tests)
