<?php
declare(strict_types=1);

namespace App\Shapes;

final class Rectangle implements Shape
{
	public function __construct(private int $width, private int $height)
	{
	}

	public function area(): int
	{
		return $this->width * $this->height;
	}
}
