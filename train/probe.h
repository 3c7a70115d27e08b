/* The probe: a tiny fixed network taken through forward, loss, backward and two optimizer steps on the kernels in use, and a hash of every number.
 * Two machines that disagree in it compute differently and must not train one model together.
 *
 *     uint64_t mine; TRY(probe_run(&where, &mine));          // local
 *     TRY(probe_compare(mine));                              // collective: STATUS_CHECK names the ranks and hosts that differ
 */
#ifndef FRETSAW_TRAIN_PROBE_H
#define FRETSAW_TRAIN_PROBE_H

#include <stdint.h>

#include "model/placement.h"

status probe_run(const placement *where, uint64_t *hash);
status probe_compare(uint64_t mine);

#endif
