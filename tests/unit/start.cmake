fretsaw_test(normal SOURCES unit/normal_test.c LINK fretsaw_support fretsaw_cpu)
fretsaw_test(binding SOURCES unit/binding_test.c LINK fretsaw_support)
