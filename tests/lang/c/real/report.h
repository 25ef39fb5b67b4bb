#pragma once

struct json;

void report_path(const struct json *document, const char *path);
void report_totals(const struct json *document);
