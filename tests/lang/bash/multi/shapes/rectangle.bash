area() {
	local -i width=$1 height=$2
	echo $((width * height))
}
