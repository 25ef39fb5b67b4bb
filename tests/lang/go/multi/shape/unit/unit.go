package unit

// One of them.
const One = 1
