/* torch.save files: a zip archive (since PyTorch 1.6) or the older run of pickles. Nothing in them is executed.
 *
 *     TRY(torchbin_read(file));          // from weights_file_open: fills file->entries
 *
 * The pickle inside is interpreted by a small stack machine (torchbin_pickle.h) that knows tensors, numbers, strings and
 * containers and refuses every global but those that rebuild tensors. Names of tensors in nested containers are joined by dots.
 * Local.
 */
#ifndef FRETSAW_MODEL_TORCHBIN_H
#define FRETSAW_MODEL_TORCHBIN_H

#include "model/weights_file.h"

/* STATUS_INPUT names the file, the byte and the fault. */
status torchbin_read(weights_file *file);

#endif
