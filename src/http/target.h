/* The target of a request's first line, and who is asked. Pure; for parse.c. */
#pragma once

#include "http/http.h"

/* Fills head->path and head->query; `host` is that of an absolute target, untouched by others. 0, or -1. */
int http_target(struct http_text target, struct http_head *head, struct http_text *host, struct http_fault *fault);
/* Whether only characters of "HOST" or "HOST:PORT" are in it. Empty is fine: RFC 9110 has it so. */
bool http_is_authority(struct http_text text);
/* -1, with the fault filled. */
int http_refuse(struct http_fault *fault, int status, const char *message);
