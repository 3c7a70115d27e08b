add_library(fretsaw_csv_support STATIC support/slow_csv.c support/csv_trace.c)
target_link_libraries(fretsaw_csv_support PUBLIC fretsaw_support fretsaw_preprocess)

fretsaw_test(csv_cuts SOURCES unit/csv_cuts_test.c LINK fretsaw_csv_support)
fretsaw_test(csv_scan SOURCES unit/csv_scan_test.c LINK fretsaw_csv_support)
fretsaw_test(csv_label SOURCES unit/csv_label_test.c LINK fretsaw_csv_support)
fretsaw_test(csv_oracle SOURCES unit/csv_oracle_test.c LINK fretsaw_csv_support)
