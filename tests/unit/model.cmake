foreach(name model_oracle)
  fretsaw_test(${name} SOURCES unit/${name}_test.c unit/model_case.c LINK fretsaw_support fretsaw_model)
endforeach()
