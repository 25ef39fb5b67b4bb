source ${0:A:h}/numbers.zsh
fpath=(${0:A:h}/shapes $fpath)
autoload -Uz area
typeset -A size=(width $WIDTH height $HEIGHT)
area $size[width] $size[height]
echo multi $REPLY
