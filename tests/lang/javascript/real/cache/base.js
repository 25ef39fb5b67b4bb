import { EventEmitter } from 'node:events';

// What all policies share: room for so many, and entries that grow too old. A policy says which one goes.
export class Cache extends EventEmitter {
	entries = new Map();

	constructor(capacity) {
		super();
		this.capacity = capacity;
	}

	get(key, now) {
		const entry = this.entries.get(key);

		if (entry && entry.until <= now) {
			this.drop(key);
			this.emit('expired', key);
			return undefined;
		}
		if (entry)
			this.used(key, entry);
		return entry?.value;
	}

	put(key, value, now, until) {
		const known = this.entries.get(key);

		if (!known && this.entries.size >= this.capacity) {
			const victim = this.victim(now);
			this.drop(victim);
			this.emit('evicted', victim);
		}
		const entry = { ...known, value, until };
		this.entries.set(key, entry);
		this.used(key, entry);
	}

	drop(key) {
		return this.entries.delete(key);
	}

	keys() {
		return this.entries.keys();
	}

	used() {}

	victim() {
		// A Map remembers the order in which its keys came.
		return this.entries.keys().next().value;
	}
}
