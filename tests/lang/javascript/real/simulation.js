export class Simulation {
	#cache;
	#now = 0;
	#counts = { hits: 0, misses: 0, evictions: 0, expired: 0 };

	constructor(cache) {
		this.#cache = cache;
		cache.on('evicted', () => this.#counts.evictions++);
		cache.on('expired', () => this.#counts.expired++);
	}

	play(events) {
		for (const event of events)
			this[event.verb](event);
	}

	get({ key }) {
		if (this.#cache.get(key, this.#now) !== undefined) {
			this.#counts.hits++;
		} else {
			// What is not there is fetched, and kept.
			this.#counts.misses++;
			this.#cache.put(key, { from: 'get' }, this.#now, Infinity);
		}
	}

	put({ key, ttl }) {
		this.#cache.put(key, { from: 'put' }, this.#now, this.#now + ttl);
	}

	drop({ key }) {
		this.#cache.drop(key);
	}

	wait({ time }) {
		this.#now += time;
	}

	result() {
		const { hits, misses } = this.#counts;
		const rate = hits + misses ? ((100 * hits) / (hits + misses)).toFixed(1) + '%' : '-';

		return { ...this.#counts, rate, left: [...this.#cache.keys()].join(' ') };
	}
}
