set(tokens_link fretsaw_support fretsaw_tokens)
fretsaw_test(tokens SOURCES unit/tokens_test.c LINK ${tokens_link})
fretsaw_test(tokens_normalise SOURCES unit/tokens_normalise_test.c LINK ${tokens_link})
fretsaw_test(tokens_random SOURCES unit/tokens_random_test.c unit/tokens_slow.c LINK ${tokens_link})
add_test(NAME tokens_random_long COMMAND test_tokens_random 100000) # 1.6 million texts
set_tests_properties(tokens_random_long PROPERTIES TIMEOUT 900 LABELS "unit;slow" ENVIRONMENT "${FRETSAW_TEST_ENVIRONMENT}")
fretsaw_test(tokens_cache SOURCES unit/tokens_cache_test.c LINK ${tokens_link})
fretsaw_test(tokens_json SOURCES unit/tokens_json_test.c LINK ${tokens_link})
fretsaw_test(tokens_view SOURCES unit/tokens_view_test.c LINK ${tokens_link})
fretsaw_test(tokens_oracle SOURCES unit/tokens_oracle_test.c LINK ${tokens_link} TIMEOUT 600)

# The Unicode tables made again; skipped where this Python has another Unicode version.
find_program(FRETSAW_PYTHON NAMES python3.11 python3)
if(FRETSAW_PYTHON)
  add_test(NAME tokens_unicode COMMAND ${FRETSAW_PYTHON} ${PROJECT_SOURCE_DIR}/preprocess/make_unicode.py --check)
  set_tests_properties(tokens_unicode PROPERTIES TIMEOUT 120 LABELS unit SKIP_RETURN_CODE 77)
endif()

# What the Rust tokenizers library says of every code point, asked again; skipped without it.
if(DEFINED ENV{FRETSAW_PEERS})
  add_test(NAME tokens_unicode_rust COMMAND $ENV{FRETSAW_PEERS} ${PROJECT_SOURCE_DIR}/preprocess/make_rust.py --check)
  set_tests_properties(tokens_unicode_rust PROPERTIES TIMEOUT 600 LABELS "unit;slow" SKIP_RETURN_CODE 77)
endif()
