import graph.Graph;
import graph.Paths;
import graph.SpanningTree;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;
import text.Command;

/** Answers questions about a map that is read line by line. */
public class Routes {
	private static final String HELP = """
			wrong: %s
			   in: %s
			""";

	private final Graph graph = new Graph();
	private final PrintStream out;

	Routes(PrintStream out) {
		this.out = out;
	}

	void run(Command command) {
		if (command instanceof Command.AddRoad add) graph.add(new Graph.Road(add.from(), add.to(), add.length()));
		else if (command instanceof Command.FindWay find) findWay(find);
		else if (command instanceof Command.ShowTree) showTree();
		else if (command instanceof Command.ShowTable) showTable();
		else if (command instanceof Command.Wrong wrong) out.printf(HELP, wrong.reason(), wrong.line());
	}

	private void findWay(Command.FindWay find) {
		String text = new Paths(graph, find.from())
				.to(find.to())
				.map(way -> String.join(" > ", way.places()) + ": " + way.length())
				.orElseGet(() -> "no way from " + find.from() + " to " + find.to());
		out.println(text);
	}

	private void showTree() {
		SpanningTree tree = new SpanningTree(graph);
		String roads = tree.roads().stream().map(Graph.Road::toString).collect(Collectors.joining(", "));
		out.println(roads + "; length " + tree.length() + ", parts " + tree.parts());
	}

	private void showTable() {
		out.print("      ");
		graph.places().forEach(place -> out.printf("%6s", place));
		out.println();
		for (String from : graph.places()) {
			Paths paths = new Paths(graph, from);
			out.printf("%-6s", from);
			for (String to : graph.places())
				out.printf("%6s", paths.to(to).map(way -> String.valueOf(way.length())).orElse("-"));
			out.printf("  at most %d%n", paths.farthest());
		}
	}

	public static void main(String[] args) throws IOException {
		Routes routes = new Routes(System.out);
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		for (String line; (line = in.readLine()) != null; ) {
			if (line.isBlank()) continue;
			try {
				routes.run(Command.read(line));
			} catch (Graph.UnknownPlace | IllegalArgumentException error) {
				System.out.println("cannot: " + error.getMessage());
			}
		}
	}
}
