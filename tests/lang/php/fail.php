<?php

function reach(array $data, string $key): string
{
	return $data[$key] ?? throw new OutOfBoundsException("nothing at $key");
}

reach([], 'ember');
