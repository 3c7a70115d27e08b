fretsaw_test(tokens_oracle SOURCES unit/tokens_oracle_test.c LINK fretsaw_support fretsaw_tokens TIMEOUT 300)
