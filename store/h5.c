#include "store/h5.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/zstd_filter.h"

enum { MOST_ATTRIBUTE_BYTES = 64 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ready;

void h5_enter(void)
{
    pthread_mutex_lock(&lock);
    if (!ready) {
        /* Its exit handler would try to flush a file whose disk is full over and over. */
        H5dont_atexit();
        H5open();
    }
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (!ready)
        zstd_filter_register();
    ready = true;
}

void h5_leave(void)
{
    pthread_mutex_unlock(&lock);
}

typedef struct reason {
    char text[300];
    int error; /* errno of a system call that HDF5 made, 0 if none */
} reason;

static herr_t note_reason(unsigned depth, const H5E_error2_t *entry, void *to)
{
    reason *r = to;
    const char *text = entry->desc ? entry->desc : "";
    if (depth == 0)
        snprintf(r->text, sizeof r->text, "%s", text);
    const char *number = strstr(text, "errno = ");
    if (number && r->error == 0) {
        r->error = (int)strtol(number + 8, NULL, 10);
        snprintf(r->text, sizeof r->text, "%s", strerror(r->error));
    }
    return 0;
}

status h5_fail(status kind, const char *format, ...)
{
    reason r = {{0}, 0};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_reason, &r);
    H5Eclear2(H5E_DEFAULT);
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r.error == ENOSPC || r.error == EDQUOT)
        return fail(STATUS_IO, "%s: no space left; free some or choose another folder, then run the same command again", text);
    if (r.error != 0)
        return fail(STATUS_IO, "%s: %s", text, r.text);
    return fail(kind, "%s%s%s%s", text, r.text[0] ? " (HDF5: " : "", r.text, r.text[0] ? ")" : "");
}

hid_t h5_access_list(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list >= 0 && H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
        H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) >= 0) {
#if H5_VERSION_GE(1, 10, 7)
        /* Locks fail on some network file systems; a file has one writer under a name of its own, so none are needed. */
        H5Pset_file_locking(list, false, true);
#endif
        return list;
    }
    if (list >= 0)
        H5Pclose(list);
    return -1;
}

hid_t h5_creation_list(hid_t class_id)
{
    hid_t list = H5Pcreate(class_id);
    if (list >= 0 && H5Pset_obj_track_times(list, false) >= 0)
        return list;
    if (list >= 0)
        H5Pclose(list);
    return -1;
}

status h5_write_number(hid_t object, const char *path, const char *name, uint64_t value)
{
    status st = STATUS_OK;
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, H5T_NATIVE_UINT64, &value) < 0)
        st = h5_fail(STATUS_IO, "%s: cannot write attribute %s", path, name);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    return st;
}

status h5_read_number(hid_t object, const char *path, const char *name, uint64_t *value)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return h5_fail(STATUS_INPUT, "%s: attribute %s is missing", path, name);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    status st = STATUS_OK;
    if (H5Tget_class(type) != H5T_INTEGER || H5Sget_simple_extent_npoints(space) != 1 || H5Aread(attribute, H5T_NATIVE_UINT64, value) < 0)
        st = h5_fail(STATUS_INPUT, "%s: attribute %s is not one integer", path, name);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return st;
}

static hid_t text_type(size_t width)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && H5Tset_size(type, width) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        return type;
    return -1;
}

status h5_write_texts(hid_t object, const char *path, const char *name, char *const *text, int64_t count, int64_t columns)
{
    size_t width = 1;
    for (int64_t i = 0; i < count; i++)
        width = strlen(text[i]) > width ? strlen(text[i]) : width;
    char *packed;
    TRY(memory_new(&packed, width * (size_t)count, name));
    for (int64_t i = 0; i < count; i++)
        memcpy(packed + (size_t)i * width, text[i], strlen(text[i]));
    hsize_t size[2] = {columns ? (hsize_t)(count / columns) : 1, (hsize_t)columns};
    hid_t type = text_type(width), space = columns ? H5Screate_simple(columns > 1 ? 2 : 1, size, NULL) : H5Screate(H5S_SCALAR);
    hid_t attribute = type < 0 || space < 0 ? -1 : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    status st = STATUS_OK;
    if (attribute < 0 || H5Awrite(attribute, type, packed) < 0)
        st = h5_fail(STATUS_IO, "%s: cannot write attribute %s (%lld texts of %zu bytes)", path, name, (long long)count, width);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    free(packed);
    return st;
}

static status unpack_texts(const char *packed, size_t width, int64_t count, const char *name, char ***text)
{
    char **list;
    TRY(memory_new(&list, (size_t)count * sizeof *list, name));
    for (int64_t i = 0; i < count; i++) {
        const char *from = packed + (size_t)i * width;
        size_t bytes = strnlen(from, width);
        status st = memory_new(&list[i], bytes + 1, name);
        if (st != STATUS_OK) {
            h5_free_texts(list, i);
            return st;
        }
        memcpy(list[i], from, bytes);
    }
    *text = list;
    return STATUS_OK;
}

status h5_read_texts(hid_t object, const char *path, const char *name, int64_t columns, char ***text, int64_t *count)
{
    *text = NULL;
    *count = 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return h5_fail(STATUS_INPUT, "%s: attribute %s is missing", path, name);
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    char *packed = NULL;
    status st = STATUS_OK;
    hsize_t size[2] = {1, 1};
    int dimensions = H5Sget_simple_extent_ndims(space);
    size_t width = H5Tget_size(type);
    bool fits = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 && dimensions == (columns > 1 ? 2 : columns > 0 ? 1 : 0);
    if (fits)
        fits = H5Sget_simple_extent_dims(space, size, NULL) >= 0 && (columns < 2 || size[1] == (hsize_t)columns) && width > 0 &&
               width <= MOST_ATTRIBUTE_BYTES && size[0] <= MOST_ATTRIBUTE_BYTES / width / (columns > 1 ? (hsize_t)columns : 1);
    if (!fits) {
        st = h5_fail(STATUS_INPUT, "%s: attribute %s is not the list of fixed-length texts it should be", path, name);
        goto done;
    }
    int64_t items = (int64_t)(size[0] * size[1]);
    TRY_DONE(memory_new(&packed, (size_t)items * width, name));
    if (items > 0 && H5Aread(attribute, type, packed) < 0) {
        st = h5_fail(STATUS_INPUT, "%s: attribute %s cannot be read", path, name);
        goto done;
    }
    TRY_DONE(unpack_texts(packed, width, items, name, text));
    *count = items;
done:
    free(packed);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return st;
}

void h5_free_texts(char **text, int64_t count)
{
    for (int64_t i = 0; text && i < count; i++)
        free(text[i]);
    free(text);
}

bool h5_has_attribute(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0;
}
