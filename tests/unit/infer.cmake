foreach(part number submission validate measure blocks)
  fretsaw_test(infer_${part} SOURCES unit/infer_${part}_test.c LINK fretsaw_support fretsaw_infer)
endforeach()
fretsaw_test(exact_sum SOURCES unit/exact_sum_test.c LINK fretsaw_support fretsaw_infer)
