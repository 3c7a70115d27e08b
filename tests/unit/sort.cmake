fretsaw_test(sort SOURCES unit/sort_test.c LINK fretsaw_support fretsaw_common)
