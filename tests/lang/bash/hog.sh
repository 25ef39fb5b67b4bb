held=xxxxxxxxxxxxxxxx
while :; do
	held=$held$held
done
