package graph;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Places, and roads between them that can be gone in both directions. */
public final class Graph {
	public record Road(String from, String to, int length) implements Comparable<Road> {
		public Road {
			if (length <= 0) throw new IllegalArgumentException("a road has a length above 0, not " + length);
			if (from.equals(to)) throw new IllegalArgumentException("a road from " + from + " to itself");
		}

		Road back() {
			return new Road(to, from, length);
		}

		@Override
		public int compareTo(Road other) {
			int order = Integer.compare(length, other.length);
			if (order == 0) order = from.compareTo(other.from);
			return order != 0 ? order : to.compareTo(other.to);
		}

		@Override
		public String toString() {
			return from + "-" + to + " (" + length + ")";
		}
	}

	private final Map<String, List<Road>> roads = new TreeMap<>();
	private final List<Road> all = new ArrayList<>();

	public void add(Road road) {
		roads.computeIfAbsent(road.from(), name -> new ArrayList<>()).add(road);
		roads.computeIfAbsent(road.to(), name -> new ArrayList<>()).add(road.back());
		all.add(road);
	}

	public Set<String> places() {
		return Collections.unmodifiableSet(roads.keySet());
	}

	public Collection<Road> roads() {
		return Collections.unmodifiableList(all);
	}

	public List<Road> from(String place) {
		List<Road> found = roads.get(place);
		if (found == null) throw new UnknownPlace(place);
		return found;
	}

	public static final class UnknownPlace extends RuntimeException {
		private static final long serialVersionUID = 1;

		UnknownPlace(String place) {
			super("no place is called " + place);
		}
	}
}
