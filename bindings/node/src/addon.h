/* SPDX-License-Identifier: MIT */
/* What the two halves of the addon share: values of JavaScript in and out. */
#ifndef MEMTRACER_NODE_ADDON_H
#define MEMTRACER_NODE_ADDON_H

#define NAPI_VERSION 8
#include <memtracer/memtracer.h>
#include <node_api.h>
#include <stdbool.h>

#define ARGUMENTS_MAX 5
#define PARAMS_MAX 32 /* of a query */

/* The arguments of a call; what is missing is undefined. */
bool addon_arguments(napi_env env, napi_callback_info info, napi_value *out);

/* Throws an Error whose `code` is "TRACER_E…" and whose message names the thing. */
napi_value addon_throw(napi_env env, int error);

/* A new string for free(), NULL for anything but a string (or when there is no memory). */
char *addon_text(napi_env env, napi_value v);

/* The field as a whole number, 0 when it is not one. */
int64_t addon_field(napi_env env, napi_value object, const char *name);

void addon_set_number(napi_env env, napi_value object, const char *name, double value);

/* The reader's functions: addon_reader.c. */
napi_value addon_reader_open(napi_env env, napi_callback_info info);
napi_value addon_reader_close(napi_env env, napi_callback_info info);
napi_value addon_reader_query(napi_env env, napi_callback_info info);

#endif
