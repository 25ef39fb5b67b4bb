#pragma once
#include <string>

std::string name();
extern "C" int one(void);
