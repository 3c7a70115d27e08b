/* HDF5's registered filter 32015 (zstd), put into this process so that plain H5Dread and H5Dwrite work without a plugin folder.
 *
 *     zstd_filter_register();          // h5_enter does it
 *
 * Local, inside the lock of h5.h.
 */
#ifndef FRETSAW_STORE_ZSTD_FILTER_H
#define FRETSAW_STORE_ZSTD_FILTER_H

#include <stdbool.h>

enum { ZSTD_FILTER = 32015, ZSTD_FILTER_LEVEL = 3 };

/* False when HDF5 refuses it. */
bool zstd_filter_register(void);

#endif
