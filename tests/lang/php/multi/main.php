<?php
declare(strict_types=1);

use App\Shapes\Rectangle;

spl_autoload_register(function (string $class): void {
	require __DIR__ . '/src/' . str_replace(['App\\', '\\'], ['', '/'], $class) . '.php';
});
$numbers = require 'numbers.php';

echo 'multi ', (new Rectangle(...$numbers))->area(), "\n";
