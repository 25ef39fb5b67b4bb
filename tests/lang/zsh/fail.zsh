set -e
place=/nowhere

# The next one fails.
cat < "$place/ember"
echo never
