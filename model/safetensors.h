/* The safetensors format: 8 bytes of header length (little-endian), a JSON header, the tensors' bytes end to end.
 *
 *     TRY(safetensors_read(file));                                   // from weights_file_open: fills file->entries
 *     TRY(safetensors_write(&file, list, n));                        // a large_file of the caller's
 *
 * Local.
 */
#ifndef FRETSAW_MODEL_SAFETENSORS_H
#define FRETSAW_MODEL_SAFETENSORS_H

#include "common/large_file.h"
#include "model/weights_file.h"

/* Reads the header of the mapped file and checks what the reference checks: header length, UTF-8, JSON, no name twice, known types,
 * products without overflow, spans equal to shape x type, no overlap, no gap, no byte left over. STATUS_INPUT names the fault. */
status safetensors_read(weights_file *file);

/* One float32 tensor to write; the elements are the caller's. */
typedef struct safetensors_item {
    const char *name;
    int dims;
    const int64_t *shape;
    const float *data;
} safetensors_item;

/* Writes header ({"format": "pt"} as metadata, padded so that data starts on 8 bytes) and data in the order given. */
status safetensors_write(large_file *file, const safetensors_item *items, size_t count);

#endif
