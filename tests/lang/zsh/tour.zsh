# What a script can do in a box; each part checks itself.
setopt err_exit no_unset pipe_fail extended_glob
zmodload zsh/datetime zsh/net/tcp zsh/system zsh/mathfunc zsh/stat

check() {
	[[ $1 == "$2" ]] || {
		print -u2 -r -- "$funcfiletrace[1]: '$1' is not '$2'"
		exit 1
	}
}

# Files
place=$(mktemp -d)
print -l é b > $place/one.txt
ln -s one.txt $place/link
check "$(< $place/link)" $'é\nb'
zstat -A size +size $place/one.txt
check $size 5
lines=(${(f)"$(< $place/one.txt)"})
check $#lines:$lines[1] 2:é
mkdir -p $place/a/b
touch $place/a/{x,y,z}.log
logs=($place/a/^y.log(.:t))
check "$logs" 'x.log z.log'
files=($place/**/*.log(.))
check $#files 3

# Text
[[ '  name = Ember ; rest' =~ '([a-z]+) = ([A-Z][a-z]+)' ]]
check $match[1]:$match[2] name:Ember
word=ember
check ${(U)word}:$word[2,4]:${word/e/E}:$#word:${(C)word} EMBER:mbe:Ember:5:Ember
setopt extended_glob
text='a1 b22'
check ${text//(#m)[0-9]##/<$MATCH>} 'a<1> b<22>'
check ${(j:,:)${(ou)${(s: :):-b 3 a 3}}} 3,a,b
check "$(printf '%05.2f|%-4s|%x' 3.14159 ab 255)" '03.14|ab  |ff'
check ${(l:5::0:)${:-42}} 00042

# Data
typeset -A ages=(ann 30 bob 25)
ages[cy]=41
total=0
for name age in ${(kv)ages}; do
	((total += age))
done
check $total 96
check $((2 ** 10)):$((0xff)):$((int(sqrt(50)))) 1024:255:7
check ${(k)ages[(r)41]} cy
json=$(printf '{"name": "%s", "age": %d}' ann $ages[ann])
[[ $json =~ '"age": ([0-9]+)' ]]
check $match[1] 30

# Dates
TZ=UTC strftime -s day %FT%T 0
check $day 1970-01-01T00:00:00
check "$(date -u -d '2024-02-28 23:59:59 UTC + 1 second' +%F)" 2024-02-29

# Processes
(exit 3) &
code=0
wait $! || code=$?
check $code 3
check "$(diff <(print a) <(print b) | grep -c '^[<>]')" 2
caught=no
TRAPUSR1() { caught=yes }
kill -USR1 $$
check $caught yes
coproc cat
print -p ember
read -rp answer
check $answer ember
code=0
timeout 0.2 sleep 60 || code=$?
check $code 124

# Sockets: the kernel chooses the port when it is 0, but does not tell; so some are tried.
for ((port = 20000; port < 20100; port++)); do
	ztcp -l $port 2> /dev/null && break
done
listener=$REPLY
(
	ztcp -a $listener
	read -ru $REPLY line
	print -u $REPLY ${(U)line}
) &
ztcp 127.0.0.1 $port
print -u $REPLY loopback
read -ru $REPLY answer
check $answer LOOPBACK
ztcp -c $REPLY
wait $!

rm -r $place
print tour ok
