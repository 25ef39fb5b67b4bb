<?php
// What comes with PHP, in a box; each part checks itself.
declare(strict_types=1);

function check(mixed $got, mixed $want): void
{
	if ($got !== $want)
		throw new LogicException(var_export($got, true) . ' is not ' . var_export($want, true));
}

function files(): void
{
	$place = sys_get_temp_dir() . '/tour-' . getmypid();
	mkdir("$place/a", 0777, true);
	file_put_contents("$place/a/b.txt", "é\nb\n");
	check(filesize("$place/a/b.txt"), 5);
	check(file("$place/a/b.txt", FILE_IGNORE_NEW_LINES), ['é', 'b']);
	symlink("$place/a/b.txt", "$place/link");
	check(basename(readlink("$place/link")), 'b.txt');
	copy("$place/a/b.txt", "$place/c.txt");
	$found = [];
	foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator($place, FilesystemIterator::SKIP_DOTS)) as $file)
		$found[] = $file->getFilename();
	sort($found);
	check($found, ['b.txt', 'c.txt', 'link']);
	$table = fopen('php://temp', 'w+');
	fputcsv($table, ['a', 'b,c', 'd"e'], escape: '');
	rewind($table);
	check(fgetcsv($table, escape: ''), ['a', 'b,c', 'd"e']);
	array_map('unlink', ["$place/link", "$place/c.txt", "$place/a/b.txt"]);
	rmdir("$place/a");
	check(rmdir($place), true);
}

function text(): void
{
	preg_match('/(?<key>\w+)\s*=\s*(?<value>[^;]+);/', '  name = Ember ; rest', $found);
	check([$found['key'], $found['value']], ['name', 'Ember ']);
	check(preg_replace_callback('/\d+/', fn($m) => (string) ($m[0] * 2), 'a1 b22'), 'a2 b44');
	check(preg_split('//u', '日本', -1, PREG_SPLIT_NO_EMPTY), ['日', '本']);
	check(sprintf('%.2f|%5d|%x|%s', 3.14159, 42, 255, 'é'), '3.14|   42|ff|é');
	check(ucwords('hello world'), 'Hello World');
	check(htmlspecialchars('<a & "b">'), '&lt;a &amp; &quot;b&quot;&gt;');
	check(levenshtein('kitten', 'sitting'), 3);
	check(number_format(1234567.891, 2), '1,234,567.89');
	check(base64_encode('ember'), 'ZW1iZXI=');
	check(str_contains('ember', 'mb'), true);
}

enum Level: int
{
	case Low = 1;
	case High = 2;

	public static function top(): self
	{
		return self::High;
	}
}

function numbers(int $n): Generator
{
	for ($i = 1; $i <= $n; $i++)
		yield $i;
}

function data(): void
{
	$value = ['a' => [1, 2.5, null, true, 'é']];

	check(json_decode(json_encode($value, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), true), $value);
	check(unserialize(serialize($value)), $value);
	check(substr(hash('sha256', ''), 0, 8), 'e3b0c442');
	check(array_sum(iterator_to_array(numbers(100))), 5050);
	check(array_map(null, [1, 2], ['a', 'b']), [[1, 'a'], [2, 'b']]);
	check(Level::from(2), Level::top());
	check(match (true) { 3 > 2 => 'yes', default => 'no' }, 'yes');
	$words = ['b' => 1, 'a' => 2];
	ksort($words);
	check(array_keys($words), ['a', 'b']);
	$heap = new SplMinHeap();
	foreach ([5, 3, 8] as $n)
		$heap->insert($n);
	check($heap->extract(), 3);
	try {
		intdiv(1, 0);
	} catch (DivisionByZeroError $error) {
		check($error->getMessage(), 'Division by zero');
	}
	$fiber = new Fiber(fn($x) => Fiber::suspend($x + 1) * 2);
	check($fiber->start(1), 2);
	$fiber->resume(21);
	check($fiber->getReturn(), 42);
}

function dates(): void
{
	$day = new DateTimeImmutable('2024-02-28 23:59:59', new DateTimeZone('UTC'));

	check($day->modify('+1 second')->format(DATE_ATOM), '2024-02-29T00:00:00+00:00');
	check($day->diff(new DateTimeImmutable('2025-03-01', new DateTimeZone('UTC')))->y, 1);
	check($day->setTimezone(new DateTimeZone('Asia/Tokyo'))->format('H:i'), '08:59');
	check(gmdate('Y', 0), '1970');
}

function processes(): void
{
	$process = proc_open(['/bin/sh', '-c', 'cat; exit 3'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
	fwrite($pipes[0], 'in');
	fclose($pipes[0]);
	check(stream_get_contents($pipes[1]), 'in');
	check(proc_close($process), 3);
	check(shell_exec('echo shell'), "shell\n");
	exec('printf "a\nb"; exit 4', $lines, $code);
	check([$lines, $code], [['a', 'b'], 4]);
}

function sockets(): void
{
	$server = stream_socket_server('tcp://127.0.0.1:0');
	$client = stream_socket_client('tcp://' . stream_socket_get_name($server, false), timeout: 5);
	$peer = stream_socket_accept($server, 5);
	fwrite($client, "loopback\n");
	fwrite($peer, strtoupper(fgets($peer)));
	check(fgets($client), "LOOPBACK\n");
	[$left, $right] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
	fwrite($left, 'pair');
	$read = [$right];
	$none = null;
	check(stream_select($read, $none, $none, 5), 1);
	check(fread($right, 10), 'pair');
}

files();
text();
data();
dates();
processes();
sockets();
echo "tour ok\n";
