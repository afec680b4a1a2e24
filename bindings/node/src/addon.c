/* SPDX-License-Identifier: MIT */
/* bindings/node: the tracer as functions of JavaScript; index.js makes a class of them.
 * In: values of JavaScript. Out: values, or exceptions with a code. Called by Node's main thread
 * and its workers, each with a handle of its own. Must not keep values of JavaScript. */
#include "addon.h"

#include <stdlib.h>
#include <string.h>

/* What a handle points to; `t` NULL = stopped. */
struct box {
    tracer *t;
};

bool addon_arguments(napi_env env, napi_callback_info info, napi_value *out)
{
    size_t n = ARGUMENTS_MAX;

    return napi_get_cb_info(env, info, &n, out, NULL, NULL) == napi_ok;
}

napi_value addon_throw(napi_env env, int error)
{
    const char *detail = tracer_last_error();

    napi_throw_error(env, tracer_error_name(error), *detail ? detail : tracer_strerror(error));
    return NULL;
}

char *addon_text(napi_env env, napi_value v)
{
    size_t n = 0;
    char *text;

    if (napi_get_value_string_utf8(env, v, NULL, 0, &n) != napi_ok)
        return NULL;
    text = malloc(n + 1);
    if (text)
        napi_get_value_string_utf8(env, v, text, n + 1, &n);
    return text;
}

int64_t addon_field(napi_env env, napi_value object, const char *name)
{
    napi_value v;
    int64_t number = 0;

    if (napi_get_named_property(env, object, name, &v) == napi_ok)
        napi_get_value_int64(env, v, &number);
    return number;
}

void addon_set_number(napi_env env, napi_value object, const char *name, double value)
{
    napi_value v;

    napi_create_double(env, value, &v);
    napi_set_named_property(env, object, name, v);
}

/* The program or the worker ends. */
static void stop_at_the_end(void *data)
{
    struct box *b = data;

    tracer_stop(b->t);
    b->t = NULL;
}

static void collect(napi_env env, void *data, void *hint)
{
    (void)hint;
    napi_remove_env_cleanup_hook(env, stop_at_the_end, data);
    stop_at_the_end(data);
    free(data);
}

static tracer *handle(napi_env env, napi_value v)
{
    void *data = NULL;

    return napi_get_value_external(env, v, &data) == napi_ok ? ((struct box *)data)->t : NULL;
}

/* running(handle) → false once it is stopped */
static napi_value running(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX], result = NULL;

    addon_arguments(env, info, v);
    napi_get_boolean(env, handle(env, v[0]) != NULL, &result);
    return result;
}

static napi_value answer(napi_env env, int error)
{
    return error ? addon_throw(env, error) : NULL;
}

/* What does not fit becomes a number that is refused. */
static uint32_t small_field(napi_env env, napi_value object, const char *name)
{
    int64_t number = addon_field(env, object, name);

    return number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static void take_options(napi_env env, napi_value object, tracer_options *o)
{
    o->flags = small_field(env, object, "flags");
    o->interval_ms = small_field(env, object, "intervalMs");
    o->commit_ms = small_field(env, object, "commitMs");
    o->budget_ns = (uint64_t)addon_field(env, object, "budgetNs");
    o->max_file_bytes = (uint64_t)addon_field(env, object, "maxFileBytes");
    o->pid = small_field(env, object, "pid");
    o->stack_min_bytes = (uint64_t)addon_field(env, object, "stackMinBytes");
}

/* start(path, options, label) → handle */
static napi_value start(napi_env env, napi_callback_info info)
{
    tracer_options o = TRACER_OPTIONS_INIT;
    struct box *b = calloc(1, sizeof(*b));
    napi_value v[ARGUMENTS_MAX], result = NULL;
    char *path, *label;
    int error;

    addon_arguments(env, info, v);
    take_options(env, v[1], &o);
    path = addon_text(env, v[0]);
    label = addon_text(env, v[2]);
    o.label = label;
    error = b ? tracer_start(path, &o, &b->t) : TRACER_ENOMEM;
    free(path);
    free(label);
    if (!error && napi_create_external(env, b, collect, NULL, &result) == napi_ok) {
        napi_add_env_cleanup_hook(env, stop_at_the_end, b);
        return result;
    }
    if (!error)
        tracer_stop(b->t);
    free(b);
    return addon_throw(env, error ? error : TRACER_ENOMEM);
}

static napi_value stop(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    void *data = NULL;
    tracer *t = NULL;

    addon_arguments(env, info, v);
    if (napi_get_value_external(env, v[0], &data) == napi_ok) {
        t = ((struct box *)data)->t;
        ((struct box *)data)->t = NULL;
    }
    return answer(env, tracer_stop(t));
}

#define CONTROL(verb)                                                                              \
    static napi_value verb(napi_env env, napi_callback_info info)                                  \
    {                                                                                              \
        napi_value v[ARGUMENTS_MAX];                                                               \
                                                                                                   \
        addon_arguments(env, info, v);                                                             \
        return answer(env, tracer_##verb(handle(env, v[0])));                                      \
    }

CONTROL(sample)
CONTROL(flush)
CONTROL(pause)
CONTROL(resume)

static napi_value mark(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    char *label;
    int error;

    addon_arguments(env, info, v);
    label = addon_text(env, v[1]);
    error = tracer_mark(handle(env, v[0]), label);
    free(label);
    return answer(env, error);
}

static napi_value number_or_throw(napi_env env, int error, uint32_t number)
{
    napi_value result = NULL;

    if (error)
        return addon_throw(env, error);
    napi_create_uint32(env, number, &result);
    return result;
}

/* typeAdd(handle, name, description) → type */
static napi_value type_add(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    char *name, *description;
    uint32_t type = 0;
    int error;

    addon_arguments(env, info, v);
    name = addon_text(env, v[1]);
    description = addon_text(env, v[2]);
    error = tracer_type_add(handle(env, v[0]), name, description, &type);
    free(name);
    free(description);
    return number_or_throw(env, error, type);
}

static bool memory_of(napi_env env, napi_value v, void **out, size_t *out_bytes)
{
    bool is_buffer = false;

    if (napi_is_arraybuffer(env, v, &is_buffer) == napi_ok && is_buffer)
        return napi_get_arraybuffer_info(env, v, out, out_bytes) == napi_ok;
    if (napi_is_buffer(env, v, &is_buffer) == napi_ok && is_buffer)
        return napi_get_buffer_info(env, v, out, out_bytes) == napi_ok;
    *out = NULL;
    *out_bytes = 0;
    return false;
}

/* claim(handle, buffer, type, label) */
static napi_value claim(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    uint32_t type = 0;
    size_t bytes;
    void *data;
    char *label;
    int error;

    addon_arguments(env, info, v);
    memory_of(env, v[1], &data, &bytes);
    napi_get_value_uint32(env, v[2], &type);
    label = addon_text(env, v[3]);
    error = tracer_claim(handle(env, v[0]), data, bytes, type, label);
    free(label);
    return answer(env, error);
}

static napi_value unclaim(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    size_t bytes;
    void *data;

    addon_arguments(env, info, v);
    memory_of(env, v[1], &data, &bytes);
    return answer(env, tracer_unclaim(handle(env, v[0]), data, bytes));
}

/* counterAdd(handle, name, unit, description) → counter */
static napi_value counter_add(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    char *name, *unit, *description;
    uint32_t counter = 0;
    int error;

    addon_arguments(env, info, v);
    name = addon_text(env, v[1]);
    unit = addon_text(env, v[2]);
    description = addon_text(env, v[3]);
    error = tracer_counter_add(handle(env, v[0]), name, unit, description, &counter);
    free(name);
    free(unit);
    free(description);
    return number_or_throw(env, error, counter);
}

static napi_value counter_set(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX];
    uint32_t counter = 0;
    int64_t value = 0;

    addon_arguments(env, info, v);
    napi_get_value_uint32(env, v[1], &counter);
    napi_get_value_int64(env, v[2], &value);
    return answer(env, tracer_counter_set(handle(env, v[0]), counter, value));
}

/* totals(handle) → [[type, known, column 0, column 1 …] …] */
static napi_value totals(napi_env env, napi_callback_info info)
{
    tracer_type_bytes rows[TRACER_TYPE_CAPACITY];
    tracer_totals all = {.size = sizeof(all), .capacity = TRACER_TYPE_CAPACITY, .types = rows};
    napi_value v[ARGUMENTS_MAX], result, row, number;
    int error;

    addon_arguments(env, info, v);
    error = tracer_get_totals(handle(env, v[0]), &all);
    if (error)
        return addon_throw(env, error);
    napi_create_array_with_length(env, all.n_types, &result);
    for (uint32_t i = 0; i < all.n_types; i++) {
        const uint64_t *columns = &rows[i].size_bytes;

        napi_create_array(env, &row);
        for (uint32_t c = 0; c < TRACER_COLUMN_LARGEST + 3; c++) {
            napi_create_double(env,
                               c == 0   ? rows[i].type
                               : c == 1 ? rows[i].known
                                        : (double)columns[c - 2],
                               &number);
            napi_set_element(env, row, c, number);
        }
        napi_set_element(env, result, i, row);
    }
    return result;
}

static napi_value stats(napi_env env, napi_callback_info info)
{
    tracer_stats s = {.size = sizeof(s)};
    napi_value v[ARGUMENTS_MAX], result;
    int error;

    addon_arguments(env, info, v);
    error = tracer_get_stats(handle(env, v[0]), &s);
    if (error)
        return addon_throw(env, error);
    napi_create_object(env, &result);
    addon_set_number(env, result, "state", s.state);
    addon_set_number(env, result, "ticks", (double)s.n_ticks);
    addon_set_number(env, result, "missed", (double)s.n_missed);
    addon_set_number(env, result, "failed", (double)s.n_failed);
    addon_set_number(env, result, "costWallNs", (double)s.cost_wall_ns);
    addon_set_number(env, result, "costCpuNs", (double)s.cost_cpu_ns);
    addon_set_number(env, result, "longestTickNs", (double)s.longest_tick_ns);
    addon_set_number(env, result, "ownBytes", (double)s.own_bytes);
    addon_set_number(env, result, "fileBytes", (double)s.file_bytes);
    addon_set_number(env, result, "dropped", (double)s.n_dropped);
    return result;
}

static napi_value last_problem(napi_env env, napi_callback_info info)
{
    napi_value v[ARGUMENTS_MAX], result = NULL;
    char text[512];
    int error;

    addon_arguments(env, info, v);
    error = tracer_last_problem(handle(env, v[0]), text, sizeof(text));
    if (error)
        return addon_throw(env, error);
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result);
    return result;
}

static napi_value version(napi_env env, napi_callback_info info)
{
    napi_value result = NULL;

    (void)info;
    napi_create_string_utf8(env, tracer_version_string(), NAPI_AUTO_LENGTH, &result);
    return result;
}

#define EXPORT(name, f)                                                                            \
    {                                                                                              \
        name, NULL, f, NULL, NULL, NULL, napi_enumerable, NULL                                     \
    }

NAPI_MODULE_INIT()
{
    const napi_property_descriptor all[] = {
        EXPORT("start", start),
        EXPORT("stop", stop),
        EXPORT("running", running),
        EXPORT("sample", sample),
        EXPORT("flush", flush),
        EXPORT("pause", pause),
        EXPORT("resume", resume),
        EXPORT("mark", mark),
        EXPORT("typeAdd", type_add),
        EXPORT("claim", claim),
        EXPORT("unclaim", unclaim),
        EXPORT("counterAdd", counter_add),
        EXPORT("counterSet", counter_set),
        EXPORT("totals", totals),
        EXPORT("stats", stats),
        EXPORT("lastProblem", last_problem),
        EXPORT("version", version),
        EXPORT("readerOpen", addon_reader_open),
        EXPORT("readerClose", addon_reader_close),
        EXPORT("readerQuery", addon_reader_query),
    };

    napi_define_properties(env, exports, sizeof(all) / sizeof(all[0]), all);
    addon_set_number(env, exports, "paramsMax", PARAMS_MAX);
    return exports;
}
