fretsaw_test(train_order SOURCES unit/train_order_test.c LINK fretsaw_support fretsaw_trainer)
fretsaw_test(train_adamw SOURCES unit/train_adamw_test.c LINK fretsaw_support fretsaw_trainer)
fretsaw_test(train_files SOURCES unit/train_files_test.c LINK fretsaw_support fretsaw_trainer)
fretsaw_test(train_balance SOURCES unit/train_balance_test.c LINK fretsaw_csv_support fretsaw_trainer LABELS release-only)
