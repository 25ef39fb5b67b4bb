package Numbers;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw($WIDTH $HEIGHT);
our ($WIDTH, $HEIGHT) = (6, 7);

1;
