import { Cache } from './base.js';
import { Lfu } from './lfu.js';
import { Random } from './random.js';

class Lru extends Cache {
	used(key, entry) {
		this.entries.delete(key);
		this.entries.set(key, entry);
	}
}

export const policies = { fifo: Cache, lru: Lru, lfu: Lfu, random: Random };
