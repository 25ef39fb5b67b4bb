use strict;
use warnings;
use Numbers qw($WIDTH $HEIGHT);
use Shapes::Rectangle;

require './label.pl';
print label(), ' ', Shapes::Rectangle->new($WIDTH, $HEIGHT)->area, "\n";
