readonly WIDTH=6 HEIGHT=7
