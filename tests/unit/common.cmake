fretsaw_test(rng SOURCES unit/rng_test.c LINK fretsaw_support)
fretsaw_test(permutation SOURCES unit/permutation_test.c LINK fretsaw_support)
fretsaw_test(tree SOURCES unit/tree_test.c LINK fretsaw_support)
fretsaw_test(auc SOURCES unit/auc_test.c LINK fretsaw_support)
