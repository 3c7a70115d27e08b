fretsaw_test(threads SOURCES unit/threads_test.c LINK fretsaw_support LABELS unit threads)
