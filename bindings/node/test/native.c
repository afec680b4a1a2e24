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

/* markInChild(handle) → what tracer_mark() says in a forked child, as an exit code. JavaScript
 * itself does not live on there: V8's threads are gone. */
static napi_value mark_in_child(napi_env env, napi_callback_info info)
{
    napi_value handle, result = NULL;
    void *data = NULL;
    int status = 0;
    size_t n = 1;
    pid_t pid;

    napi_get_cb_info(env, info, &n, &handle, NULL, NULL);
    napi_get_value_external(env, handle, &data);
    pid = fork();
    if (pid == 0)
        _exit(-tracer_mark(*(tracer **)data, "child"));
    waitpid(pid, &status, 0);
    napi_create_int32(env, WIFEXITED(status) ? -WEXITSTATUS(status) : 128, &result);
    return result;
}

NAPI_MODULE_INIT()
{
    napi_value f;

    napi_create_function(env, "leak", NAPI_AUTO_LENGTH, leak, NULL, &f);
    napi_set_named_property(env, exports, "leak", f);
    napi_create_function(env, "markInChild", NAPI_AUTO_LENGTH, mark_in_child, NULL, &f);
    napi_set_named_property(env, exports, "markInChild", f);
    return exports;
}
