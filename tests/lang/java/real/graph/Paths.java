package graph;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;

/** Shortest ways from one place, after Dijkstra. */
public final class Paths {
	public record Way(List<String> places, int length) {}

	private record Reached(String place, int distance) implements Comparable<Reached> {
		@Override
		public int compareTo(Reached other) {
			int order = Integer.compare(distance, other.distance);
			return order != 0 ? order : place.compareTo(other.place);
		}
	}

	private final Map<String, Integer> distances = new HashMap<>();
	private final Map<String, String> before = new HashMap<>();

	public Paths(Graph graph, String start) {
		PriorityQueue<Reached> queue = new PriorityQueue<>();
		graph.from(start);
		distances.put(start, 0);
		queue.add(new Reached(start, 0));
		while (!queue.isEmpty()) {
			Reached nearest = queue.remove();
			if (nearest.distance() > distances.get(nearest.place())) continue;
			for (Graph.Road road : graph.from(nearest.place())) {
				int distance = nearest.distance() + road.length();
				if (distance >= distances.getOrDefault(road.to(), Integer.MAX_VALUE)) continue;
				distances.put(road.to(), distance);
				before.put(road.to(), nearest.place());
				queue.add(new Reached(road.to(), distance));
			}
		}
	}

	public Optional<Way> to(String place) {
		if (!distances.containsKey(place)) return Optional.empty();
		Deque<String> places = new ArrayDeque<>();
		for (String at = place; at != null; at = before.get(at)) places.addFirst(at);
		return Optional.of(new Way(List.copyOf(places), distances.get(place)));
	}

	public int farthest() {
		return distances.values().stream().mapToInt(Integer::intValue).max().orElse(0);
	}
}
