foreach(name model_oracle model_exact)
  fretsaw_test(${name} SOURCES unit/${name}_test.c unit/model_case.c LINK fretsaw_support fretsaw_model)
endforeach()
fretsaw_test(weights SOURCES unit/weights_test.c LINK fretsaw_support fretsaw_model)
