here=${BASH_SOURCE[0]%/*}
source "$here/numbers.bash"
source shapes/rectangle.bash
declare -A size=([width]=$WIDTH [height]=$HEIGHT)
echo "multi $(area "${size[width]}" "${size[height]}")"
