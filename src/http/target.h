/* The target of a request's first line, and its host. Pure; for parse.c. */
#pragma once

#include "http/http.h"

/* Sets head->path and head->query; `host` is set for an absolute target, otherwise unchanged. Returns 0, or -1. */
int http_target(struct http_text target, struct http_head *head, struct http_text *host, struct http_fault *fault);
/* Whether the text has only characters of "HOST" or "HOST:PORT". RFC 9110 allows an empty one. */
bool http_is_authority(struct http_text text);
/* Fills the fault; returns -1. */
int http_refuse(struct http_fault *fault, int status, const char *message);
