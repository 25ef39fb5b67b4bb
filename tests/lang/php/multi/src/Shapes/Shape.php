<?php
declare(strict_types=1);

namespace App\Shapes;

interface Shape
{
	public function area(): int;
}
