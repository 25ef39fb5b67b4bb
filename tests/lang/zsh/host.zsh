reached=0

fails() {
	if "$@" > /dev/null 2>&1; then
		echo "within reach: $*"
		reached=1
	fi
}

# So a listing works as such.
ls /usr > /dev/null || exit 1
fails cat /etc/shadow
fails ls /root
fails ls /home
fails touch /usr/x
[ $reached = 1 ] || echo 'host is out of reach'
