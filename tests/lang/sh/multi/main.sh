. "${0%/*}/numbers.inc"
. ./shapes/rectangle.inc
echo "multi $(area $WIDTH $HEIGHT)"
