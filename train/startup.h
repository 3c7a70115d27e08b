/* How long a start takes, by parts, from the program's exec to the first forward pass.
 *
 *     startup_mark("program and MPI");     // what has passed since the last mark, or since the exec
 *     ...
 *     startup_end();                       // at the first forward pass: one line in the log; later calls do nothing
 *
 * Local. The exec's time is the kernel's, in hundredths of a second.
 */
#ifndef FRETSAW_TRAIN_STARTUP_H
#define FRETSAW_TRAIN_STARTUP_H

/* `part` is static text. */
void startup_mark(const char *part);
void startup_end(void);

#endif
