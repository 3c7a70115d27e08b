foreach(part number submission validate measure blocks)
  fretsaw_test(infer_${part} SOURCES unit/infer_${part}_test.c LINK fretsaw_support fretsaw_infer)
endforeach()
