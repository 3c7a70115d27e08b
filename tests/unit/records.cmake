fretsaw_test(train_events SOURCES unit/train_events_test.c LINK fretsaw_support fretsaw_trainer)
