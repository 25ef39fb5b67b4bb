set -e
text=$(< data/in.txt)
for ((i = ${#text} - 1; i >= 0; i--)); do
	printf %s "${text:i:1}"
done > /sandbox/output/out.txt
