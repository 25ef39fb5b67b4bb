import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.PrintWriter;
import java.io.Serializable;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** A walk through the standard library; each part checks itself. */
public class Tour {
	static void equal(Object got, Object want) {
		if (!Objects.equals(got, want)) throw new AssertionError("got " + got + ", want " + want);
	}

	static void files() throws IOException {
		Path directory = Files.createTempDirectory("tour");
		Path file = directory.resolve("note.txt");
		Files.writeString(file, "one\ntwo\n");
		equal(Files.readAllLines(file), List.of("one", "two"));
		equal(Files.size(file), 8L);
		Files.delete(file);
		try {
			Files.readString(file);
			throw new AssertionError("a deleted file was read");
		} catch (NoSuchFileException expected) {
			equal(expected.getFile(), file.toString());
		}
		Files.delete(directory);
	}

	static void patterns() {
		Matcher matcher = Pattern.compile("(?<user>\\w+)@(?<site>\\w+)\\.org").matcher("write to ada@example.org");
		equal(matcher.find(), true);
		equal(matcher.group("user"), "ada");
		equal(matcher.replaceAll("${site}:${user}"), "write to example:ada");
		equal(List.of("a, b,c".split(",\\s*")), List.of("a", "b", "c"));
	}

	record Point(int x, int y, String name) implements Serializable {}

	/** There is no JSON in the library: its own forms of data in text and bytes instead. */
	static void objects() throws Exception {
		Properties properties = new Properties();
		properties.load(new ByteArrayInputStream("name = ember\nheat: 451\n".getBytes(StandardCharsets.UTF_8)));
		equal(properties.getProperty("name"), "ember");
		equal(Integer.parseInt(properties.getProperty("heat")), 451);

		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
			out.writeObject(new Point(1, 2, "ü"));
		}
		try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
			equal(in.readObject(), new Point(1, 2, "ü"));
		}
	}

	static void dates() {
		LocalDateTime day = LocalDateTime.of(2024, 2, 28, 23, 0).plus(Duration.ofHours(2));
		equal(day.format(DateTimeFormatter.ISO_LOCAL_DATE_TIME), "2024-02-29T01:00:00");
		equal(ChronoUnit.DAYS.between(LocalDate.of(2024, 1, 1), LocalDate.of(2025, 1, 1)), 366L);
	}

	static void streams() {
		Map<Boolean, List<Integer>> parts =
				IntStream.rangeClosed(1, 6).boxed().collect(Collectors.partitioningBy(n -> n % 2 == 0));
		equal(parts.get(true), List.of(2, 4, 6));
		Map<Integer, String> byLength = List.of("a", "bb", "cc").stream()
				.collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.joining("+")));
		equal(byLength.toString(), "{1=a, 2=bb+cc}");
		equal(BigInteger.TWO.pow(100).toString(), "1267650600228229401496703205376");
		equal(String.format("%05.2f|%-4s|%x", 3.14159, "ab", 255), "03.14|ab  |ff");
	}

	static void bytes() throws Exception {
		byte[] sum = MessageDigest.getInstance("SHA-256").digest("abc".getBytes(StandardCharsets.UTF_8));
		equal(HexFormat.of().formatHex(sum, 0, 4), "ba7816bf");
		ByteArrayOutputStream packed = new ByteArrayOutputStream();
		try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
			out.write("ember ".repeat(100).getBytes(StandardCharsets.UTF_8));
		}
		try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray()))) {
			equal(new String(in.readAllBytes(), StandardCharsets.UTF_8), "ember ".repeat(100));
		}
	}

	static void threads() throws Exception {
		AtomicInteger counter = new AtomicInteger();
		ExecutorService pool = Executors.newFixedThreadPool(4);
		Callable<Integer> task = () -> {
			for (int i = 0; i < 1000; i++) counter.incrementAndGet();
			return 1;
		};
		int done = 0;
		for (var future : pool.invokeAll(List.of(task, task, task, task))) done += future.get();
		pool.shutdown();
		equal(pool.awaitTermination(10, TimeUnit.SECONDS), true);
		equal(done, 4);
		equal(counter.get(), 4000);
		equal(CompletableFuture.supplyAsync(() -> 6).thenApply(n -> n * 7).get(10, TimeUnit.SECONDS), 42);
	}

	static void processes() throws Exception {
		Process process = new ProcessBuilder("/bin/sh", "-c", "echo $((6 * 7)); exit 3").start();
		equal(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8), "42\n");
		equal(process.waitFor(), 3);
	}

	static void sockets() throws Exception {
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			Thread thread = new Thread(() -> {
				try (Socket peer = server.accept();
						BufferedReader in = new BufferedReader(new InputStreamReader(peer.getInputStream()));
						PrintWriter out = new PrintWriter(peer.getOutputStream(), true)) {
					out.println(in.readLine().toUpperCase());
				} catch (IOException error) {
					throw new AssertionError(error);
				}
			});
			thread.start();
			try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
					BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()))) {
				socket.getOutputStream().write("echo\n".getBytes(StandardCharsets.UTF_8));
				equal(in.readLine(), "ECHO");
			}
			thread.join();
		}
	}

	public static void main(String[] args) throws Exception {
		files();
		patterns();
		objects();
		dates();
		streams();
		bytes();
		threads();
		processes();
		sockets();
		System.out.println("tour ok");
	}
}
