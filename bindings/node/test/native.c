/* SPDX-License-Identifier: MIT */
/* bindings/node: an addon for the tests: leaks by malloc, behind V8's back; and forks.
 * In: bytes, or a tracer's handle. Out: nothing, or what the tracer said in the child. */
#define _POSIX_C_SOURCE 200809L
#define NAPI_VERSION 8
#include <memtracer/memtracer.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept; /* without it the compiler leaves the block out */

static napi_value leak(napi_env env, napi_callback_info info)
{
    size_t n = 1;
    napi_value v;
    int64_t bytes = 0;
    void *block;

    napi_get_cb_info(env, info, &n, &v, NULL, NULL);
    napi_get_value_int64(env, v, &bytes);
    block = malloc((size_t)bytes);
    if (block)
        memset(block, 1, (size_t)bytes);
    kept = block;
    return NULL;
}

/* markBytes(handle, buffer): a label that no string of JavaScript is. */
static napi_value mark_bytes(napi_env env, napi_callback_info info)
{
    napi_value v[2];
    void *data = NULL, *bytes = NULL;
    size_t n = 2, n_bytes = 0;
    char label[64] = "";

    napi_get_cb_info(env, info, &n, v, NULL, NULL);
    napi_get_value_external(env, v[0], &data);
    napi_get_buffer_info(env, v[1], &bytes, &n_bytes);
    memcpy(label, bytes, n_bytes < sizeof(label) ? n_bytes : sizeof(label) - 1);
    tracer_mark(*(tracer **)data, label);
    return NULL;
}

/* What a forked child's exit code is; `path` NULL: the code of a mark of the parent's tracer, else
 * that of a recording of its own. */
static int in_child(tracer *t, const char *path)
{
    int status = 0, error = TRACER_OK;
    tracer *own = NULL;
    pid_t pid = fork();

    if (pid == 0 && path) {
        error = tracer_stop(t);
        if (!error)
            error = tracer_start(path, NULL, &own);
        if (!error)
            error = tracer_mark(own, "child");
        if (!error)
            error = tracer_stop(own);
        _exit(-error);
    } else if (pid == 0) {
        _exit(-tracer_mark(t, "child"));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 128;
}

/* recordInChild(handle, path) → 0 when the child has recorded. JavaScript itself does not live on
 * there: V8's threads are gone. */
static napi_value record_in_child(napi_env env, napi_callback_info info)
{
    napi_value v[2], result = NULL;
    void *data = NULL;
    char path[4096] = "";
    size_t n = 2;

    napi_get_cb_info(env, info, &n, v, NULL, NULL);
    napi_get_value_external(env, v[0], &data);
    napi_get_value_string_utf8(env, v[1], path, sizeof(path), &n);
    napi_create_int32(env, in_child(*(tracer **)data, path), &result);
    return result;
}

/* markInChild(handle) → what tracer_mark() says there */
static napi_value mark_in_child(napi_env env, napi_callback_info info)
{
    napi_value handle, result = NULL;
    void *data = NULL;
    size_t n = 1;

    napi_get_cb_info(env, info, &n, &handle, NULL, NULL);
    napi_get_value_external(env, handle, &data);
    napi_create_int32(env, in_child(*(tracer **)data, NULL), &result);
    return result;
}

static void export(napi_env env, napi_value exports, const char *name, napi_callback function)
{
    napi_value f;

    napi_create_function(env, name, NAPI_AUTO_LENGTH, function, NULL, &f);
    napi_set_named_property(env, exports, name, f);
}

NAPI_MODULE_INIT()
{
    export(env, exports, "leak", leak);
    export(env, exports, "markBytes", mark_bytes);
    export(env, exports, "markInChild", mark_in_child);
    export(env, exports, "recordInChild", record_in_child);
    return exports;
}
