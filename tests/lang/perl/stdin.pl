print uc while <STDIN>;
