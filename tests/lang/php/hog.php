<?php
$held = [];
while (true)
	$held[] = str_repeat('x', 1 << 20);
