/* SPDX-License-Identifier: MIT */
/* bindings/node: reading a file: rows of a query as objects.
 * In: SQL and parameters. Out: an array of objects; integers beyond 2^53 are BigInt.
 * Must not keep values of JavaScript between calls. */
#include "addon.h"

#include <memtracer/reader.h>
#include <stdlib.h>

#define SAFE_INTEGER (INT64_C(1) << 53)

struct reading {
    napi_env env;
    napi_value rows;
    uint32_t n_rows;
};

static void close_at_the_end(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    tracer_reader_close(*(tracer_reader **)data);
    free(data);
}

napi_value addon_reader_open(napi_env env, napi_callback_info info)
{
    tracer_reader **place = calloc(1, sizeof(*place));
    napi_value v[ARGUMENTS_MAX], result = NULL;
    char *path;
    int error;

    addon_arguments(env, info, v);
    path = addon_text(env, v[0]);
    error = place ? tracer_reader_open(path, place) : TRACER_ENOMEM;
    free(path);
    if (!error && napi_create_external(env, place, close_at_the_end, NULL, &result) == napi_ok)
        return result;
    if (!error)
        tracer_reader_close(*place);
    free(place);
    return addon_throw(env, error ? error : TRACER_ENOMEM);
}

static tracer_reader **reader_of(napi_env env, napi_value v)
{
    void *data = NULL;

    return napi_get_value_external(env, v, &data) == napi_ok ? data : NULL;
}

napi_value addon_reader_close(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    tracer_reader **place;

    addon_arguments(env, info, v);
    place = reader_of(env, v[0]);
    if (place) {
        tracer_reader_close(*place);
        *place = NULL;
    }
    return NULL;
}

static napi_value integer(napi_env env, int64_t value)
{
    napi_value result = NULL;

    if (value >= -SAFE_INTEGER && value <= SAFE_INTEGER)
        napi_create_int64(env, value, &result);
    else
        napi_create_bigint_int64(env, value, &result);
    return result;
}

static napi_value value_out(napi_env env, const tracer_value *v)
{
    napi_value result = NULL;

    switch (v->kind) {
    case TRACER_VALUE_INTEGER: return integer(env, v->integer);
    case TRACER_VALUE_REAL: napi_create_double(env, v->real, &result); return result;
    case TRACER_VALUE_TEXT:
        napi_create_string_utf8(env, v->bytes, v->n_bytes, &result);
        return result;
    case TRACER_VALUE_BLOB:
        napi_create_buffer_copy(env, v->n_bytes, v->bytes, NULL, &result);
        return result;
    }
    napi_get_null(env, &result);
    return result;
}

static int add_row(void *user, uint32_t n_columns, const char *const *names,
                   const tracer_value *values)
{
    struct reading *r = user;
    napi_handle_scope scope;
    napi_value row;

    if (napi_open_handle_scope(r->env, &scope) != napi_ok)
        return 1;
    napi_create_object(r->env, &row);
    for (uint32_t i = 0; i < n_columns; i++)
        napi_set_named_property(r->env, row, names[i], value_out(r->env, &values[i]));
    napi_set_element(r->env, r->rows, r->n_rows++, row);
    napi_close_handle_scope(r->env, scope);
    return 0;
}

/* A number, a text or null; text is allocated. */
static void value_in(napi_env env, napi_value v, tracer_value *out)
{
    napi_valuetype type = napi_undefined;
    bool lossless;
    size_t n = 0;

    napi_typeof(env, v, &type);
    if (type == napi_number) {
        napi_get_value_double(env, v, &out->real);
        napi_get_value_int64(env, v, &out->integer);
        out->kind = (double)out->integer == out->real ? TRACER_VALUE_INTEGER : TRACER_VALUE_REAL;
    } else if (type == napi_bigint) {
        napi_get_value_bigint_int64(env, v, &out->integer, &lossless);
        out->kind = TRACER_VALUE_INTEGER;
    } else if (type == napi_string) {
        napi_get_value_string_utf8(env, v, NULL, 0, &n);
        out->bytes = addon_text(env, v);
        out->n_bytes = (uint32_t)n;
        out->kind = out->bytes ? TRACER_VALUE_TEXT : TRACER_VALUE_NULL;
    }
}

static uint32_t params_in(napi_env env, napi_value array, tracer_value *out)
{
    uint32_t n = 0;
    napi_value v;

    napi_get_array_length(env, array, &n);
    if (n > PARAMS_MAX)
        n = PARAMS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        napi_get_element(env, array, i, &v);
        value_in(env, v, &out[i]);
    }
    return n;
}

/* readerQuery(reader, sql, params) → rows */
napi_value addon_reader_query(napi_env env, napi_callback_info info)
{
    tracer_value params[PARAMS_MAX] = {{0}};
    struct reading r = {.env = env};
    napi_value v[ARGUMENTS_MAX];
    tracer_reader **place;
    uint32_t n;
    char *sql;
    int error;

    addon_arguments(env, info, v);
    place = reader_of(env, v[0]);
    sql = addon_text(env, v[1]);
    n = params_in(env, v[2], params);
    napi_create_array(env, &r.rows);
    error = tracer_reader_query(place ? *place : NULL, sql, params, n, add_row, &r);
    for (uint32_t i = 0; i < n; i++)
        free((void *)(uintptr_t)params[i].bytes);
    free(sql);
    return error ? addon_throw(env, error) : r.rows;
}
