for (;;)
	;
