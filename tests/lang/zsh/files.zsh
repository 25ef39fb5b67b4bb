set -e
text=$(< data/in.txt)
printf %s ${(j::)${(Oas::)text}} > /sandbox/output/out.txt
