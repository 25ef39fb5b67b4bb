greet() { echo hello; }

if greet; then fi
