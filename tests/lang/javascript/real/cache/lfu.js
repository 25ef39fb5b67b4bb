import { Cache } from './base.js';

// The least often used goes; of several, the one that was put first.
export class Lfu extends Cache {
	used(key, entry) {
		entry.count = (entry.count ?? 0) + 1;
	}

	victim() {
		let least = [undefined, { count: Infinity }];

		for (const pair of this.entries)
			if (pair[1].count < least[1].count)
				least = pair;
		return least[0];
	}
}
