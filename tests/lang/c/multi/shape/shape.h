#pragma once
int area(int width, int height);
