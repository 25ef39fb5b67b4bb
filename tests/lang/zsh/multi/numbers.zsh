typeset -r WIDTH=6 HEIGHT=7
