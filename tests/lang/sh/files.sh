set -e
read -r rest < data/in.txt
out=
while [ -n "$rest" ]; do
	tail=${rest#?}
	out=${rest%"$tail"}$out
	rest=$tail
done
printf %s "$out" > /sandbox/output/out.txt
