/* The programs under the names that the one static program calls them by: each is compiled once more with main renamed (front/CMakeLists.txt).
 *
 *     return fretsaw_main_train(argc, argv);      // its exit code
 */
#ifndef FRETSAW_FRONT_MAINS_H
#define FRETSAW_FRONT_MAINS_H

int fretsaw_main_preprocess(int argc, char **argv);
int fretsaw_main_shard(int argc, char **argv);
int fretsaw_main_train(int argc, char **argv);
int fretsaw_main_infer(int argc, char **argv);
int fretsaw_main_report(int argc, char **argv);
int fretsaw_main_doctor(int argc, char **argv);

#endif
