#include <iostream>
#include "/dev/zero"
int main() {}
