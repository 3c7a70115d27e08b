#include "train/state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/sealed.h"
#include "model/run.h"

static json_t *hex(uint64_t value)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static bool read_hex(const json_t *value, uint64_t *out)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

/* The area's bits, since JSON numbers need not come back exactly everywhere. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

status state_text(const checkpoint_state *s, const tensor_table *table, const uint64_t *tensor_hash, uint64_t all, char **text)
{
    json_t *object = json_object(), *tensors = json_object(), *files = json_object();
    for (int t = 0; tensors && t < table->count; t++)
        json_object_set_new(tensors, table->tensors[t].name, hex(tensor_hash[t]));
    json_object_set_new(object, "format", json_integer(1));
    json_object_set_new(object, "arithmetic", json_integer(ARITHMETIC_VERSION));
    json_object_set_new(object, "step", json_integer(s->step));
    json_object_set_new(object, "run", json_string(s->run));
    json_object_set_new(object, "probe", hex(s->probe));
    json_object_set_new(object, "best_epoch", json_integer(s->best));
    json_object_set_new(object, "best_auc_bits", hex(bits_of(s->best_auc)));
    if (s->scale.value > 0)
        json_object_set_new(object, "loss_scale",
                            json_pack("{s:I, s:I}", "value", (json_int_t)s->scale.value, "good_steps", (json_int_t)s->scale.good_steps));
    json_object_set_new(object, "state", hex(all));
    json_object_set_new(object, "tensors", tensors);
    for (int i = 0; files && i < CHECKPOINT_FILES; i++)
        json_object_set_new(files, checkpoint_file[i], hex(s->file[i]));
    json_object_set_new(object, "files", files);
    status st = sealed_text(object, text);
    json_decref(object);
    return st;
}

static bool read_fields(const json_t *object, const tensor_table *table, checkpoint_state *s, uint64_t *tensor_hash)
{
    const json_t *tensors = json_object_get(object, "tensors");
    const char *id = json_string_value(json_object_get(object, "run"));
    uint64_t auc;
    if (!id || strlen(id) != HASH_HEX - 1 || json_object_size(tensors) != (size_t)table->count)
        return false;
    memcpy(s->run, id, HASH_HEX);
    s->step = json_integer_value(json_object_get(object, "step"));
    s->best = json_integer_value(json_object_get(object, "best_epoch"));
    const json_t *scale = json_object_get(object, "loss_scale");
    s->scale = (loss_scale){(double)json_integer_value(json_object_get(scale, "value")), json_integer_value(json_object_get(scale, "good_steps"))};
    if (!read_hex(json_object_get(object, "probe"), &s->probe) || !read_hex(json_object_get(object, "best_auc_bits"), &auc))
        return false;
    memcpy(&s->best_auc, &auc, sizeof auc);
    for (int t = 0; t < table->count; t++)
        if (!read_hex(json_object_get(tensors, table->tensors[t].name), &tensor_hash[t]))
            return false;
    for (int i = 0; i < CHECKPOINT_FILES; i++)
        if (!read_hex(json_object_get(json_object_get(object, "files"), checkpoint_file[i]), &s->file[i]))
            return false;
    return s->step >= 0;
}

status state_read(const char *path, const tensor_table *table, checkpoint_state *s, uint64_t *tensor_hash)
{
    json_t *object;
    TRY(sealed_read(path, &object, NULL));
    status st = STATUS_OK;
    if (json_integer_value(json_object_get(object, "format")) != 1 || json_integer_value(json_object_get(object, "arithmetic")) != ARITHMETIC_VERSION)
        st = fail(STATUS_INPUT, "%s: written by another version of the program", path);
    else if (!read_fields(object, table, s, tensor_hash))
        st = fail(STATUS_INPUT, "%s: does not describe a model of these tensors", path);
    json_decref(object);
    return st;
}
