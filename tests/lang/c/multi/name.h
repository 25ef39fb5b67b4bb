#pragma once
const char *name(void);
