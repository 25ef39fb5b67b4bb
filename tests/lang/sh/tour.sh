# What a script can do in a box; each part checks itself. This shell has no sockets.
set -eu

check() {
	[ "$1" = "$2" ] || {
		echo "'$1' is not '$2'" >&2
		exit 1
	}
}

# Files
place=$(mktemp -d)
trap 'rm -r "$place"' EXIT
printf 'é\nb\n' > "$place/one.txt"
ln -s one.txt "$place/link"
check "$(cat "$place/link")" "$(printf 'é\nb')"
check "$(wc -c < "$place/one.txt")" 5
count=0
while read -r line; do
	count=$((count + 1))
done < "$place/one.txt"
check "$count$line" 2
mkdir -p "$place/a/b"
for name in x y z; do
	: > "$place/a/$name.log"
done
set -- "$place"/a/*.log
check "$#:${3##*/}" 3:z.log
check "$(find "$place" -name '*.log' | wc -l)" 3

# Text
word=ember.tar.gz
check "${word%%.*}:${word#*.}:${word%.*}:${#word}" ember:tar.gz:ember.tar:12
check "${unset_before:-default}:${word:+set}" default:set
check "$(echo 'a1 b22' | sed 's/\([0-9][0-9]*\)/<\1>/g')" 'a<1> b<22>'
check "$(printf '%s\n' b 3 a 3 | sort -u | paste -s -d , -)" 3,a,b
check "$(printf 'a,1\nb,2\n' | awk -F, '{ s += $2 } END { print s }')" 3
check "$(printf '%05.2f|%-4s|%x' 3.14159 ab 255)" '03.14|ab  |ff'
case name=Ember in
[a-z]*=[A-Z]*) kind=pair ;;
*) kind=other ;;
esac
check $kind pair
check "$(expr 'name = Ember' : '[a-z]* = \(.*\)')" Ember
check "$(cat << END
$((0xff + 1)) $(echo "nested $(echo deep)")
END
)" '256 nested deep'

# Data
fib() {
	if [ "$1" -lt 2 ]; then
		echo "$1"
	else
		echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2)))))
	fi
}
check "$(fib 7)" 13
json=$(printf '{"name": "%s", "age": %d}' ann 30)
check "$(echo "$json" | sed -n 's/.*"age": \([0-9]*\).*/\1/p')" 30
IFS=: read -r user rest << END
ann:x:30
END
check "$user|$rest" 'ann|x:30'

# Dates
check "$(date -u -d @0 +%FT%TZ)" 1970-01-01T00:00:00Z
check "$(date -u -d '2024-02-28 23:59:59 UTC + 1 second' +%F)" 2024-02-29

# Processes
(exit 3) &
code=0
wait $! || code=$?
check $code 3
caught=no
trap 'caught=yes' USR1
kill -USR1 $$
check $caught yes
mkfifo "$place/pipe"
tr a-z A-Z < "$place/pipe" > "$place/loud" &
echo ember > "$place/pipe"
wait $!
check "$(cat "$place/loud")" EMBER
code=0
timeout 0.2 sleep 60 || code=$?
check $code 124
check "$( (echo out; echo err >&2) 2>&1 > /dev/null)" err

echo 'tour ok'
