# Puts what each program prints for --help-words into one file for bash: a variable a program.
set(tables "")
foreach(name preprocess shard train infer report doctor)
  file(READ ${FOLDER}/${name}.words lines)
  string(APPEND tables "_fretsaw_words_${name}='${lines}'\n")
endforeach()
file(READ ${FOLDER}/fretsaw.words commands)
string(REPLACE "\n" " " commands "${commands}")
configure_file(${FROM} ${TO} @ONLY)
