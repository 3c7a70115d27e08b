fretsaw_test(gemm SOURCES unit/gemm_test.c LINK fretsaw_support fretsaw_cpu TIMEOUT 300 LABELS unit threads)
