fretsaw_test(ops_exact SOURCES unit/ops_exact_test.c unit/ops_case.c LINK fretsaw_support fretsaw_cpu LABELS unit threads)
fretsaw_test(ops SOURCES unit/ops_test.c unit/ops_case.c LINK fretsaw_support fretsaw_cpu)
fretsaw_test(ops_oracle SOURCES unit/ops_oracle_test.c LINK fretsaw_support fretsaw_cpu PkgConfig::jansson)
