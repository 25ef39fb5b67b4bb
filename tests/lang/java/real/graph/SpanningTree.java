package graph;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The cheapest roads that join what can be joined, after Kruskal. */
public final class SpanningTree {
	private final Map<String, String> parents = new HashMap<>();
	private final List<Graph.Road> chosen;

	public SpanningTree(Graph graph) {
		graph.places().forEach(place -> parents.put(place, place));
		chosen = graph.roads().stream().sorted().filter(this::join).collect(Collectors.toUnmodifiableList());
	}

	private String root(String place) {
		String parent = parents.get(place);
		if (parent.equals(place)) return place;
		String root = root(parent);
		parents.put(place, root);
		return root;
	}

	private boolean join(Graph.Road road) {
		String left = root(road.from()), right = root(road.to());
		if (left.equals(right)) return false;
		parents.put(left, right);
		return true;
	}

	public List<Graph.Road> roads() {
		return chosen;
	}

	public int length() {
		return chosen.stream().mapToInt(Graph.Road::length).sum();
	}

	public long parts() {
		return parents.keySet().stream().map(this::root).distinct().count();
	}
}
