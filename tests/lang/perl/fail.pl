use strict;
use warnings;

sub reach {
	die "nothing at $_[0]";
}

reach('ember');
